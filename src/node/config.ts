import { normalize } from "node:path/posix";
import { parseArgs } from "node:util";
import { defaultMountpointNamespace, type NodeName } from "../core/names.ts";
import { isPidNamespace, type PidNamespaces } from "../core/pid-namespace.ts";
import { type Proxy, proxyVariables } from "../core/proxy.ts";
import { pluginDir } from "../core/target-path.ts";
import { type KeyFields, type Keys, keysFrom } from "../s3/keys.ts";

export interface NodeConfig {
  /** Where the CSI service listens. */
  readonly endpoint: string;
  /** Who we are to kubelet. */
  readonly nodeId: string;
  /** Who we are in attachments and Pods. */
  readonly nodeName: NodeName;
  readonly verbosity: number;
  readonly mountpointVersion: string;
  readonly mountpointNamespace: string;
  readonly kubeletDir: string;
  /** The directory of the CSI socket as kubelet sees it on the host. */
  readonly hostPluginDir: string;
  readonly s3: { readonly endpointUrl: string; readonly region: string };
  /** How mount-s3 reaches the object store, unless a volume says otherwise. */
  readonly proxy: Proxy;
  readonly pidNamespaces: PidNamespaces;
  /** Where the processes of the host can be seen. */
  readonly hostProc: string;
  /** How long a mount that does not answer and does nothing is left alone; 0: for ever. */
  readonly hangLimitMs: number;
  readonly driverKeys: DriverKeysConfig;
  /** Whether they stand in for those that a volume names, but does not bring. */
  readonly fallbackToDriverKeys: boolean;
  /** kubelet's registration directory as we see it; undefined where a sidecar registers us. */
  readonly registryDir: string | undefined;
  /** undefined where a sidecar answers kubelet's probes. */
  readonly healthPort: number | undefined;
  readonly api: { readonly kubeconfig: string } | { readonly host: string; readonly port: string };
}

/** Our chart names a Secret; manifests of 2.x put its content into our environment. */
export type DriverKeysConfig =
  | { readonly from: "secret"; readonly namespace: string; readonly name: string; readonly fields: KeyFields }
  | { readonly from: "environment"; readonly keys: Keys | undefined };

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads flags and environment once and reports every problem at once. */
export function nodeConfigFrom(args: readonly string[], env: Environment): NodeConfig {
  const flags = flagsIn(args, env);
  const problems = new Problems();
  const endpointUrl = problems.required(
    env["AWS_ENDPOINT_URL"],
    "AWS_ENDPOINT_URL environment variable must be set: it is the address of the S3 service",
  );
  const nodeId = problems.required(flags["node-id"], "the node has no name: set CSI_NODE_NAME or --node-id");
  const kubeletDir = withoutEndSlash(env["KUBELET_PATH"] || "/var/lib/kubelet");
  const config: NodeConfig = {
    endpoint: flags.endpoint,
    nodeId,
    nodeName: (env["NODE_NAME"] || nodeId) as NodeName,
    verbosity: problems.number("--v", flags.v, 10),
    mountpointVersion: flags["mp-version"],
    mountpointNamespace: env["MOUNTPOINT_NAMESPACE"] || defaultMountpointNamespace,
    kubeletDir,
    hostPluginDir: env["HOST_PLUGIN_DIR"] || pluginDir(kubeletDir),
    s3: { endpointUrl, region: env["AWS_REGION"] || "us-east-1" },
    proxy: proxyIn(env),
    pidNamespaces: pidNamespacesIn(flags, problems),
    hostProc: flags["host-proc"],
    hangLimitMs: problems.number("--hang-limit-seconds", flags["hang-limit-seconds"], 1_000_000) * 1000,
    driverKeys: driverKeysIn(flags, env, problems),
    fallbackToDriverKeys: !flags["no-driver-credentials-fallback"],
    registryDir: flags.register ? flags["registration-dir"] : undefined,
    healthPort:
      flags["health-port"] === "" ? undefined : problems.number("--health-port", flags["health-port"], 65_535),
    api: apiIn(flags.kubeconfig, env, problems),
  };
  problems.throwIfAny();
  return Object.freeze(config);
}

/** Paths are compared with those in mountinfo, so there must be one spelling. */
function withoutEndSlash(path: string): string {
  return normalize(path).replace(/(.)\/$/, "$1");
}

/** Under names of our own: the node plugin itself talks to the cluster only, and not through a proxy. */
function proxyIn(env: Environment): Proxy {
  return Object.fromEntries(
    proxyVariables.flatMap((name) => {
      const value = env[`MOUNTPOINT_${name}`];
      return value ? [[name, value]] : [];
    }),
  );
}

/** The flags of 2.x, and those that our chart and our tests pass. */
function flagsIn(args: readonly string[], env: Environment) {
  return parseArgs({
    args: [...args],
    options: {
      endpoint: { type: "string", default: "unix:///tmp/csi.sock" },
      "node-id": { type: "string", default: env["CSI_NODE_NAME"] ?? "" },
      v: { type: "string", default: "2" },
      "mp-version": { type: "string", default: env["MOUNTPOINT_VERSION"] ?? "" },
      register: { type: "boolean", default: false },
      "registration-dir": { type: "string", default: "/registration" },
      "health-port": { type: "string", default: "" },
      "host-proc": { type: "string", default: "/proc" },
      "hang-limit-seconds": { type: "string", default: "600" },
      "host-pid": { type: "boolean", default: false },
      "mount-pid-namespace": { type: "string", default: "private" },
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

function pidNamespacesIn(flags: Flags, problems: Problems): PidNamespaces {
  const usual = flags["mount-pid-namespace"];
  const inHostPids = flags["host-pid"];
  if (usual === "host" && !inHostPids)
    problems.add("--mount-pid-namespace=host needs --host-pid, and hostPID of the Pod");
  if (isPidNamespace(usual)) return { usual, inHostPids };
  problems.add(`--mount-pid-namespace is neither private nor host: ${usual}`);
  return { usual: "private", inHostPids };
}

function driverKeysIn(flags: Flags, env: Environment, problems: Problems): DriverKeysConfig {
  const reference = flags["credentials-secret"];
  if (reference === "") return { from: "environment", keys: problems.unless(() => environmentKeys(env)) };
  const [, namespace = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(reference) ?? [];
  if (name === "") problems.add(`--credentials-secret is not NAMESPACE/NAME: ${reference}`);
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

/** Without any key the driver still serves volumes that bring their own. */
function environmentKeys(env: Environment): Keys | undefined {
  if (!env[variables.accessKeyId] && !env[variables.secretAccessKey]) return undefined;
  return keysFrom("the environment", env, variables);
}

function apiIn(kubeconfig: string, env: Environment, problems: Problems): NodeConfig["api"] {
  if (kubeconfig !== "") return { kubeconfig };
  const missing = "KUBERNETES_SERVICE_HOST is not set: this program runs in a Pod, or with --kubeconfig";
  const host = problems.required(env["KUBERNETES_SERVICE_HOST"], missing);
  return { host, port: env["KUBERNETES_SERVICE_PORT"] || "443" };
}

class Problems {
  readonly #found: string[] = [];

  add(problem: string): void {
    this.#found.push(problem);
  }

  required(value: string | undefined, problem: string): string {
    const text = value?.trim() ?? "";
    if (text === "") this.add(problem);
    return text;
  }

  number(name: string, text: string, max: number): number {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > max) this.add(`${name} is not a number from 0 to ${max}: ${text}`);
    return value;
  }

  unless<Value>(read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      this.add(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw new Error(this.#found.join("; "));
  }
}
