/** Flags and environment → the configuration of the CSI controller service, or every problem at once. */
import { parseArgs } from "node:util";
import { type Proxy, proxyVariables } from "../core/proxy.ts";
import { type KeyFields, type Keys, keysFrom } from "../s3/keys.ts";
import type { StoreLimits } from "../s3/object-store.ts";

export interface ProvisionerConfig {
  /** Where the CSI service listens. */
  readonly endpoint: string;
  readonly verbosity: number;
  /** undefined: no health is served, as under manifests of 2.x. */
  readonly healthPort: number | undefined;
  readonly s3: { readonly endpointUrl: string; readonly region: string; readonly limits: StoreLimits };
  /** A file with certificates, trusted in addition to those of the system. */
  readonly caBundle: string | undefined;
  /** Where those of the system are; undefined: where the image has them. */
  readonly systemRoots: string | undefined;
  readonly proxy: Proxy;
  readonly driverKeys: DriverKeysConfig;
  /** Whether a class that names a Secret for one half of the work may use the driver's keys for the other. */
  readonly fallbackToDriverKeys: boolean;
  readonly api: { readonly kubeconfig: string } | { readonly host: string; readonly port: string };
}

/** Our chart names a Secret; manifests of 2.x put its content into our environment. */
export type DriverKeysConfig =
  | { readonly from: "secret"; readonly namespace: string; readonly name: string; readonly fields: KeyFields }
  | { readonly from: "environment"; readonly keys: Keys | undefined };

type Environment = Readonly<Record<string, string | undefined>>;

export function provisionerConfigFrom(args: readonly string[], env: Environment): ProvisionerConfig {
  const flags = flagsIn(args);
  const problems: string[] = [];
  const endpointUrl = trimmed(env["AWS_ENDPOINT_URL"]) ?? "";
  if (!URL.canParse(endpointUrl)) {
    problems.push("AWS_ENDPOINT_URL environment variable must be set: it is the address of the S3 service");
  }
  const config: ProvisionerConfig = {
    endpoint: flags.endpoint,
    verbosity: numberIn(flags, "v", 10, problems),
    healthPort: flags["health-port"] === "" ? undefined : numberIn(flags, "health-port", 65_535, problems),
    s3: { endpointUrl, region: trimmed(env["AWS_REGION"]) ?? "us-east-1", limits: limitsIn(flags, problems) },
    caBundle: trimmed(env["AWS_CA_BUNDLE"]),
    systemRoots: trimmed(env["SSL_CERT_FILE"]),
    proxy: proxyIn(env),
    driverKeys: driverKeysIn(flags, env, problems),
    fallbackToDriverKeys: !flags["no-driver-credentials-fallback"],
    api: apiIn(flags.kubeconfig, env, problems),
  };
  if (problems.length > 0) throw new Error(`invalid configuration: ${problems.join("; ")}`);
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
      // Together they stay below the time that the provisioner gives a call.
      "s3-connect-seconds": { type: "string", default: "5" },
      "s3-answer-seconds": { type: "string", default: "10" },
      "s3-attempts": { type: "string", default: "4" },
      kubeconfig: { type: "string", default: "" },
      "credentials-secret": { type: "string", default: "" },
      "access-key-id-field": { type: "string", default: "access_key_id" },
      "secret-access-key-field": { type: "string", default: "secret_access_key" },
      "session-token-field": { type: "string", default: "session_token" },
      "no-driver-credentials-fallback": { type: "boolean", default: false },
    },
  }).values;
}

type Flags = ReturnType<typeof flagsIn>;
type NumberFlag = "v" | "health-port" | "s3-connect-seconds" | "s3-answer-seconds" | "s3-attempts";

function limitsIn(flags: Flags, problems: string[]): StoreLimits {
  return {
    connectMs: 1000 * numberIn(flags, "s3-connect-seconds", 3_600, problems),
    answerMs: 1000 * numberIn(flags, "s3-answer-seconds", 3_600, problems),
    attempts: numberIn(flags, "s3-attempts", 100, problems),
  };
}

function numberIn(flags: Flags, name: NumberFlag, most: number, problems: string[]): number {
  const text = flags[name];
  if (!/^\d+$/.test(text) || Number(text) > most) problems.push(`--${name} is not a number from 0 to ${most}: ${text}`);
  return Number(text);
}

/** undefined: nothing is said. */
function trimmed(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

/** Under names of our own: the way to the cluster is without a proxy. */
function proxyIn(env: Environment): Proxy {
  return Object.fromEntries(
    proxyVariables.flatMap((name) => {
      const value = env[`MOUNTPOINT_${name}`];
      return value ? [[name, value]] : [];
    }),
  );
}

function driverKeysIn(flags: Flags, env: Environment, problems: string[]): DriverKeysConfig {
  const reference = flags["credentials-secret"];
  if (reference === "") return { from: "environment", keys: environmentKeys(env, problems) };
  const [, namespace = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(reference) ?? [];
  if (name === "") problems.push(`--credentials-secret is not NAMESPACE/NAME: ${reference}`);
  const fields = {
    accessKeyId: flags["access-key-id-field"],
    secretAccessKey: flags["secret-access-key-field"],
    sessionToken: flags["session-token-field"],
  };
  return { from: "secret", namespace, name, fields };
}

const variables: KeyFields = {
  accessKeyId: "AWS_ACCESS_KEY_ID",
  secretAccessKey: "AWS_SECRET_ACCESS_KEY",
  sessionToken: "AWS_SESSION_TOKEN",
};

/** Without any key the driver still serves classes that bring their own (PR-7). */
function environmentKeys(env: Environment, problems: string[]): Keys | undefined {
  if (!env[variables.accessKeyId] && !env[variables.secretAccessKey]) return undefined;
  try {
    return keysFrom("the environment", env, variables);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function apiIn(kubeconfig: string, env: Environment, problems: string[]): ProvisionerConfig["api"] {
  if (kubeconfig !== "") return { kubeconfig };
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  if (host === "")
    problems.push("KUBERNETES_SERVICE_HOST is not set: this program runs in a Pod, or with --kubeconfig");
  return { host, port: env["KUBERNETES_SERVICE_PORT"] || "443" };
}
