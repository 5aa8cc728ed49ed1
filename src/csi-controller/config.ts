/** Flags and environment → the configuration of the CSI controller service, or every problem at once. */
import { parseArgs } from "node:util";
import { type Proxy, proxyFrom } from "../core/proxy.ts";
import { type ApiLocation, apiLocationFrom } from "../kube/client/api-location.ts";
import type { Ref } from "../kube/client/client.ts";
import { Problems } from "../runtime/problems.ts";
import { type DriverKeysConfig, driverKeyFlags, driverKeysFrom } from "../s3/driver-keys.ts";
import type { StoreLimits } from "../s3/object-store.ts";
import type { OwnPod } from "./orphans/orphan-reports.ts";
import type { OrphanTimes } from "./orphans/orphans.ts";

export interface CsiControllerConfig {
  /** Where the CSI service listens. */
  readonly endpoint: string;
  readonly verbosity: number;
  /** undefined: no health is served, as under manifests of 2.x. */
  readonly healthPort: number | undefined;
  /** Whether what is counted can be read there, too. */
  readonly metrics: boolean;
  readonly s3: { readonly endpointUrl: string; readonly region: string; readonly limits: StoreLimits };
  /** A file with certificates, trusted in addition to those of the system. */
  readonly caBundle: string | undefined;
  /** Where those of the system are; undefined: where the image has them. */
  readonly systemRoots: string | undefined;
  readonly proxy: Proxy;
  readonly driverKeys: DriverKeysConfig;
  /** Whether a class that names a Secret for one half of the work may use the driver's keys for the other. */
  readonly fallbackToDriverKeys: boolean;
  readonly orphans: OrphanTimes;
  /** The ConfigMap with the records of protected Secrets; undefined: none is protected, as under manifests of 2.x. */
  readonly protectedSecrets: Ref | undefined;
  /** undefined: nobody told us, as under manifests of 2.x. */
  readonly pod: OwnPod | undefined;
  readonly api: ApiLocation;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function csiControllerConfigFrom(args: readonly string[], env: Environment): CsiControllerConfig {
  const flags = flagsIn(args);
  const problems = new Problems();
  const endpointUrl = trimmed(env["AWS_ENDPOINT_URL"]) ?? "";
  if (!URL.canParse(endpointUrl)) {
    problems.add("AWS_ENDPOINT_URL environment variable must be set: it is the address of the S3 service");
  }
  const config: CsiControllerConfig = {
    endpoint: flags.endpoint,
    verbosity: problems.number("--v", flags.v, 10),
    healthPort:
      flags["health-port"] === "" ? undefined : problems.number("--health-port", flags["health-port"], 65_535),
    metrics: flags.metrics,
    s3: { endpointUrl, region: trimmed(env["AWS_REGION"]) ?? "us-east-1", limits: limitsIn(flags, problems) },
    caBundle: trimmed(env["AWS_CA_BUNDLE"]),
    systemRoots: trimmed(env["SSL_CERT_FILE"]),
    proxy: proxyFrom(env),
    driverKeys: driverKeysFrom(flags, env, problems),
    fallbackToDriverKeys: !flags["no-driver-credentials-fallback"],
    orphans: {
      everyMs: 1000 * problems.number("--orphan-look-seconds", flags["orphan-look-seconds"], 1_000_000),
      settleMs: 1000 * problems.number("--orphan-settle-seconds", flags["orphan-settle-seconds"], 3_600),
    },
    protectedSecrets: refIn("--protected-secrets", flags["protected-secrets"], problems),
    pod: podIn(env),
    api: apiLocationFrom(flags.kubeconfig, env, problems),
  };
  problems.throwIfAny();
  return Object.freeze(config);
}

/** The flags of 2.x, and those that our chart and our tests pass. */
function flagsIn(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      endpoint: { type: "string", default: "unix:///tmp/csi.sock" },
      v: { type: "string", default: "2" },
      // Of the node plugin, which is the same command.
      "node-id": { type: "string", default: "" },
      "mp-version": { type: "string", default: "" },
      "health-port": { type: "string", default: "" },
      metrics: { type: "boolean", default: false },
      // Together they stay below the time that the provisioner gives a call.
      "s3-connect-seconds": { type: "string", default: "5" },
      "s3-answer-seconds": { type: "string", default: "10" },
      "s3-attempts": { type: "string", default: "4" },
      // How often buckets without a volume are looked for (0: never), and how long one has to be seen before it is reported.
      "orphan-look-seconds": { type: "string", default: "3600" },
      "orphan-settle-seconds": { type: "string", default: "60" },
      "protected-secrets": { type: "string", default: "" },
      kubeconfig: { type: "string", default: "" },
      ...driverKeyFlags,
    },
  }).values;
}

type Flags = ReturnType<typeof flagsIn>;

function limitsIn(flags: Flags, problems: Problems): StoreLimits {
  return {
    connectMs: 1000 * problems.number("--s3-connect-seconds", flags["s3-connect-seconds"], 3_600),
    answerMs: 1000 * problems.number("--s3-answer-seconds", flags["s3-answer-seconds"], 3_600),
    attempts: problems.number("--s3-attempts", flags["s3-attempts"], 100),
  };
}

function refIn(flag: string, text: string, problems: Problems): Ref | undefined {
  if (text === "") return undefined;
  const [, namespace, name = ""] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (name === "") problems.add(`${flag} is not NAMESPACE/NAME: ${text}`);
  return { namespace, name };
}

function podIn(env: Environment): OwnPod | undefined {
  const { POD_NAMESPACE: namespace, POD_NAME: name, POD_UID: uid } = env;
  return namespace && name && uid ? { namespace, name, uid } : undefined;
}

/** undefined: nothing is said. */
function trimmed(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}
