import { normalize } from "node:path/posix";
import { parseArgs } from "node:util";
import { defaultMountpointNamespace, type NodeName } from "../core/names.ts";
import { isPidNamespace, type PidNamespaces } from "../core/pid-namespace.ts";
import { type Proxy, proxyFrom } from "../core/proxy.ts";
import { type ApiLocation, apiLocationFrom } from "../kube/client/api-location.ts";
import { Problems } from "../runtime/problems.ts";
import { type DriverKeysConfig, driverKeyFlags, driverKeysFrom } from "../s3/driver-keys.ts";
import { pluginDir } from "./domain/target-path.ts";

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
  /** Whether what is counted can be read there, too. */
  readonly metrics: boolean;
  readonly api: ApiLocation;
}

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
    proxy: proxyFrom(env),
    pidNamespaces: pidNamespacesIn(flags, problems),
    hostProc: flags["host-proc"],
    hangLimitMs: problems.number("--hang-limit-seconds", flags["hang-limit-seconds"], 1_000_000) * 1000,
    driverKeys: driverKeysFrom(flags, env, problems),
    fallbackToDriverKeys: !flags["no-driver-credentials-fallback"],
    registryDir: flags.register ? flags["registration-dir"] : undefined,
    healthPort:
      flags["health-port"] === "" ? undefined : problems.number("--health-port", flags["health-port"], 65_535),
    metrics: flags.metrics,
    api: apiLocationFrom(flags.kubeconfig, env, problems),
  };
  problems.throwIfAny();
  return Object.freeze(config);
}

/** Paths are compared with those in mountinfo, so there must be one spelling. */
function withoutEndSlash(path: string): string {
  return normalize(path).replace(/(.)\/$/, "$1");
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
      metrics: { type: "boolean", default: false },
      "host-proc": { type: "string", default: "/proc" },
      "hang-limit-seconds": { type: "string", default: "600" },
      "host-pid": { type: "boolean", default: false },
      "mount-pid-namespace": { type: "string", default: "private" },
      kubeconfig: { type: "string", default: "" },
      ...driverKeyFlags,
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
