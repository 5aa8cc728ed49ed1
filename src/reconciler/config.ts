/** Flags and environment → the configuration of the reconciler, or every problem at once. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { defaultMountpointNamespace, mounterCommand, reconcilerLease } from "../core/names.ts";
import { type ApiLocation, apiLocationFrom } from "../kube/client/api-location.ts";
import type { Candidate } from "../kube/lease/lease.ts";
import { Problems } from "../runtime/problems.ts";
import type { HeadroomConfig } from "./domain/headroom-pod.ts";
import type { MountpointPodConfig } from "./domain/mountpoint-pod.ts";
import { headroomFrom, preemptingClassFrom } from "./headroom/settings.ts";
import {
  caFrom,
  namesFrom,
  pullPolicyFrom,
  resourcesFrom,
  textsFrom,
  tolerationsFrom,
  userByFrom,
} from "./mountpoint-pod-settings.ts";

export interface ReconcilerConfig {
  readonly mountpointPods: MountpointPodConfig;
  readonly headroom: HeadroomConfig;
  readonly api: ApiLocation;
  /** Undefined: no health is served, as under manifests of 2.x. */
  readonly healthPort: number | undefined;
  /** Undefined: there is no election, as under manifests of 2.x. */
  readonly candidate: Candidate | undefined;
  readonly cleanupIntervalMs: number;
  readonly staleAfterMs: number;
  /** For how long reconciling may stand still before the program calls itself dead. */
  readonly stallLimitMs: number;
  readonly verbosity: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function reconcilerConfigFrom(
  args: readonly string[],
  env: Environment,
  driverVersion: string,
): ReconcilerConfig {
  const problems = new Problems();
  const flags = parseFlags(args, problems);
  const given = (flag: Flag) => flags[flag]?.trim() || env[variables[flag] ?? ""]?.trim() || undefined;
  const required = (flag: Flag) => {
    const value = given(flag);
    if (value === undefined) problems.add(`--${flag} (or ${variables[flag]}) is not set`);
    return value ?? "";
  };
  const number = (flag: Flag, least: number) => {
    const text = given(flag);
    const value = Number(text ?? defaults[flag]);
    if (!Number.isInteger(value) || value < least) problems.add(`--${flag} is not a number from ${least} on: ${text}`);
    return value;
  };
  const headroom = headroomFrom(given, problems);
  const config: ReconcilerConfig = {
    headroom,
    mountpointPods: {
      namespace: given("mountpoint-namespace") ?? defaultMountpointNamespace,
      image: required("mountpoint-image"),
      imagePullPolicy: pullPolicyFrom("mountpoint-image-pull-policy", given, problems),
      command: given("mountpoint-container-command") ?? mounterCommand,
      priorityClassName: given("mountpoint-priority-class-name") ?? "",
      preemptingPriorityClassName: preemptingClassFrom(given, headroom),
      driverVersion,
      mountpointVersion: required("mountpoint-version"),
      resources: resourcesFrom(given("mountpoint-resources"), problems),
      tolerations: tolerationsFrom(given("mountpoint-tolerations"), problems),
      imagePullSecrets: namesFrom(given("mountpoint-image-pull-secrets")),
      extra: {
        labels: textsFrom("mountpoint-labels", given, problems),
        annotations: textsFrom("mountpoint-annotations", given, problems),
      },
      userBy: userByFrom(given("mountpoint-user-by"), problems),
      ca: caFrom(given, problems),
    },
    api: apiLocationFrom(given("kubeconfig"), env, problems),
    healthPort: given("health-port") === undefined ? undefined : number("health-port", 0),
    candidate: candidate(given("pod-namespace"), given("pod-name"), problems),
    cleanupIntervalMs: 1000 * number("cleanup-interval-seconds", 1),
    staleAfterMs: 1000 * number("stale-threshold-seconds", 0),
    stallLimitMs: 1000 * number("stall-limit-seconds", 1),
    verbosity: number("v", 0),
  };
  problems.throwIfAny();
  return Object.freeze(config);
}

/** Flag → the variable that holds its default; 2.x has the same names. */
const variables: Readonly<Partial<Record<Flag, string>>> = {
  "mountpoint-namespace": "MOUNTPOINT_NAMESPACE",
  "mountpoint-version": "MOUNTPOINT_VERSION",
  "mountpoint-image": "MOUNTPOINT_IMAGE",
  "mountpoint-image-pull-policy": "MOUNTPOINT_IMAGE_PULL_POLICY",
  "mountpoint-priority-class-name": "MOUNTPOINT_PRIORITY_CLASS_NAME",
  "mountpoint-preempting-priority-class-name": "MOUNTPOINT_PREEMPTING_PRIORITY_CLASS_NAME",
  "mountpoint-headroom-priority-class-name": "MOUNTPOINT_HEADROOM_PRIORITY_CLASS_NAME",
  "headroom-enabled": "MOUNTPOINT_HEADROOM_ENABLED",
  "headroom-image": "MOUNTPOINT_HEADROOM_IMAGE",
  "headroom-image-pull-policy": "MOUNTPOINT_HEADROOM_IMAGE_PULL_POLICY",
  "pod-namespace": "POD_NAMESPACE",
  "pod-name": "POD_NAME",
  "mountpoint-resources": "MOUNTPOINT_RESOURCES",
  "mountpoint-tolerations": "MOUNTPOINT_TOLERATIONS",
  "mountpoint-image-pull-secrets": "MOUNTPOINT_IMAGE_PULL_SECRETS",
  "mountpoint-labels": "MOUNTPOINT_LABELS",
  "mountpoint-annotations": "MOUNTPOINT_ANNOTATIONS",
  "mountpoint-user-by": "MOUNTPOINT_USER_BY",
  "tls-ca-cert-configmap": "TLS_CA_CERT_CONFIGMAP",
  "tls-init-image": "TLS_INIT_IMAGE",
  "tls-init-image-pull-policy": "TLS_INIT_IMAGE_PULL_POLICY",
  "tls-init-resources-req-cpu": "TLS_INIT_RESOURCES_REQUESTS_CPU",
  "tls-init-resources-req-memory": "TLS_INIT_RESOURCES_REQUESTS_MEMORY",
  "tls-init-resources-lim-memory": "TLS_INIT_RESOURCES_LIMITS_MEMORY",
};

const defaults: Readonly<Partial<Record<Flag, string>>> = {
  "cleanup-interval-seconds": "120",
  "stale-threshold-seconds": "120",
  // Far above what a worker spends on anything: requests and waits have limits of a minute or two.
  "stall-limit-seconds": "600",
  v: "2",
};

const usedFlags = [
  "mountpoint-namespace",
  "mountpoint-version",
  "mountpoint-image",
  "mountpoint-image-pull-policy",
  "mountpoint-container-command",
  "mountpoint-priority-class-name",
  "mountpoint-preempting-priority-class-name",
  "mountpoint-headroom-priority-class-name",
  "headroom-enabled",
  "headroom-image",
  "headroom-image-pull-policy",
  "pod-namespace",
  "pod-name",
  "mountpoint-resources",
  "mountpoint-tolerations",
  "mountpoint-image-pull-secrets",
  "mountpoint-labels",
  "mountpoint-annotations",
  "mountpoint-user-by",
  "tls-ca-cert-configmap",
  "tls-init-image",
  "tls-init-image-pull-policy",
  "tls-init-resources-req-cpu",
  "tls-init-resources-req-memory",
  "tls-init-resources-lim-memory",
  "kubeconfig",
  "health-port",
  "cleanup-interval-seconds",
  "stale-threshold-seconds",
  "stall-limit-seconds",
  "v",
] as const;

type Flag = (typeof usedFlags)[number];

/** Not strict, because that would stop at the first mistake. */
function parseFlags(args: readonly string[], problems: Problems): Readonly<Partial<Record<Flag, string>>> {
  const names: readonly string[] = usedFlags;
  const options: ParseArgsOptionsConfig = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const flags: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind === "positional") problems.add(`${token.value} is not a flag`);
    if (token.kind !== "option") continue;
    if (!names.includes(token.name)) problems.add(`${token.rawName} is not known`);
    else if (token.value === undefined) problems.add(`${token.rawName} has no value`);
    else flags[token.name] = token.value;
  }
  return flags;
}

/** A Pod's name is never given twice, and a container is restarted only when its process is gone. */
function candidate(
  namespace: string | undefined,
  identity: string | undefined,
  problems: Problems,
): Candidate | undefined {
  if (namespace === undefined && identity === undefined) return undefined;
  if (namespace === undefined || identity === undefined) {
    problems.add("--pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME) are of use only together: set both");
    return undefined;
  }
  return { lease: { namespace, name: reconcilerLease }, identity };
}
