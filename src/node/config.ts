import { normalize } from "node:path/posix";
import { defaultMountpointNamespace, type NodeName } from "../core/names.ts";
import type { Stores } from "../core/stores/store.ts";
import type { PidNamespace, PidNamespaces } from "../core/volume/pid-namespace.ts";
import type { Proxy } from "../core/volume/proxy.ts";
import { endpoint, healthPort, metricsSettings } from "../csi/settings.ts";
import { type ApiLocation, apiLocationFrom, apiSettings } from "../kube/client/api-location.ts";
import { verbosity } from "../runtime/log-settings.ts";
import { oneOf, seconds, text, toggle } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings } from "../runtime/settings/settings.ts";
import {
  type DriverCredentialsConfig,
  driverCredentialSettings,
  driverCredentialsFrom,
} from "../s3/driver-credentials.ts";
import { proxyFrom, proxySettings } from "../s3/proxy-settings.ts";
import { podIdentitySettings, storeSettings, storesOf } from "../s3/store-settings.ts";
import { pluginDir } from "./domain/target-path.ts";

export interface NodeConfig {
  /** Where the CSI service listens. */
  readonly endpoint: string;
  /** The node id that NodeGetInfo reports to kubelet. */
  readonly nodeId: string;
  /** The name of the node in attachments and Pods. */
  readonly nodeName: NodeName;
  readonly verbosity: number;
  readonly mountpointVersion: string;
  readonly mountpointNamespace: string;
  readonly kubeletDir: string;
  /** The directory of the CSI socket as kubelet sees it on the host. */
  readonly hostPluginDir: string;
  readonly stores: Stores;
  /** Whether volumes may use credentials for the service account of the workload. */
  readonly podIdentity: boolean;
  /** A file with certificates (PEM) that are trusted at STS; undefined: the public ones. */
  readonly caBundle: string | undefined;
  /** Sessions of service accounts are renewed as if they were no longer than this. */
  readonly sessionLimitMs: number;
  /** The proxy between mount-s3 and the object store, unless a volume names another. */
  readonly proxy: Proxy;
  readonly pidNamespaces: PidNamespaces;
  /** The /proc of the host in this container; /proc if the host's is not mounted. */
  readonly hostProc: string;
  /** How long a mount may hang before the node plugin gives it up; 0: without limit. */
  readonly hangLimitMs: number;
  /** Whether running workloads are moved where the kernel shows the container's own directory for a moment meanwhile. */
  readonly movesWithGap: boolean;
  readonly driverCredentials: DriverCredentialsConfig;
  /** Whether a volume that names a Secret, and gets none, may use the driver's credentials. */
  readonly fallbackToDriverCredentials: boolean;
  /** kubelet's registration directory in this container; undefined: a sidecar registers the driver. */
  readonly registryDir: string | undefined;
  /** undefined: a sidecar answers kubelet's probes. */
  readonly healthPort: number | undefined;
  /** Whether the health port serves metrics. */
  readonly metrics: boolean;
  /** Whether the API server decides who may read the metrics (SE-7). */
  readonly metricsAuthorization: boolean;
  /** Whether the metrics of volumes, which mount-s3 exports, are among them. */
  readonly volumeMetrics: boolean;
  readonly api: ApiLocation;
}

/** The flags and variables of 2.x, and those that our chart and our tests pass. */
const declared = {
  endpointUrl: { variable: "AWS_ENDPOINT_URL", kind: text, required: "it is the address of the S3 service" },
  nodeId: { flag: "node-id", variable: "CSI_NODE_NAME", kind: text, required: "it is the name of this node" },
  nodeName: { variable: "NODE_NAME", kind: text },
  verbosity,
  endpoint,
  mountpointVersion: { flag: "mp-version", variable: "MOUNTPOINT_VERSION", kind: text, default: "" },
  mountpointNamespace: { variable: "MOUNTPOINT_NAMESPACE", kind: text, default: defaultMountpointNamespace },
  kubeletDir: { variable: "KUBELET_PATH", kind: text, default: "/var/lib/kubelet" },
  hostPluginDir: { variable: "HOST_PLUGIN_DIR", kind: text },
  region: { variable: "AWS_REGION", kind: text, default: "us-east-1" },
  mountPidNamespace: { flag: "mount-pid-namespace", kind: oneOf("private", "host"), default: "private" },
  hostPid: { flag: "host-pid", kind: toggle, default: false },
  hostProc: { flag: "host-proc", kind: text, default: "/proc" },
  hangLimitMs: { flag: "hang-limit-seconds", kind: seconds({ min: 0, max: 1_000_000 }), default: 600_000 },
  movesWithGap: { flag: "moves-with-gap", kind: toggle, default: false },
  register: { flag: "register", kind: toggle, default: false },
  registrationDir: { flag: "registration-dir", kind: text, default: "/registration" },
  // For tests: STS does not hand out sessions as short as they need.
  sessionLimitMs: { flag: "session-limit-seconds", kind: seconds({ min: 10, max: 1_000_000 }), default: 1_000_000_000 },
  caBundle: { variable: "AWS_CA_BUNDLE", kind: text },
  ...storeSettings,
  ...podIdentitySettings,
  ...driverCredentialSettings,
  healthPort,
  ...metricsSettings,
  volumeMetrics: { flag: "volume-metrics", kind: toggle, default: false },
  ...proxySettings,
  ...apiSettings,
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function nodeConfigFrom(args: readonly string[], env: Environment): NodeConfig {
  const settings = readSettings(declared, { args, env }, [
    pidNamespacesFrom,
    storesOf,
    driverCredentialsFrom,
    apiLocationFrom,
  ]);
  const kubeletDir = withoutEndSlash(settings.kubeletDir);
  return Object.freeze<NodeConfig>({
    endpoint: settings.endpoint,
    nodeId: settings.nodeId,
    nodeName: (settings.nodeName ?? settings.nodeId) as NodeName,
    verbosity: settings.verbosity,
    mountpointVersion: settings.mountpointVersion,
    mountpointNamespace: settings.mountpointNamespace,
    kubeletDir,
    hostPluginDir: settings.hostPluginDir ?? pluginDir(kubeletDir),
    stores: storesOf(settings),
    podIdentity: settings.podIdentity,
    caBundle: settings.caBundle,
    sessionLimitMs: settings.sessionLimitMs,
    proxy: proxyFrom(settings),
    pidNamespaces: pidNamespacesFrom(settings),
    hostProc: settings.hostProc,
    hangLimitMs: settings.hangLimitMs,
    movesWithGap: settings.movesWithGap,
    driverCredentials: driverCredentialsFrom(settings),
    fallbackToDriverCredentials: !settings.noDriverCredentialsFallback,
    registryDir: settings.register ? settings.registrationDir : undefined,
    healthPort: settings.healthPort,
    metrics: settings.metrics,
    metricsAuthorization: settings.metricsAuthorization,
    volumeMetrics: settings.metrics && settings.volumeMetrics,
    api: apiLocationFrom(settings),
  });
}

/** Paths are compared with those in mountinfo, so there must be one spelling. */
function withoutEndSlash(path: string): string {
  return normalize(path).replace(/(.)\/$/, "$1");
}

function pidNamespacesFrom({ mountPidNamespace: usual, hostPid: inHostPids }: PidValues): PidNamespaces {
  if (usual === "private" || inHostPids) return { usual, inHostPids };
  throw new Error("--mount-pid-namespace=host needs --host-pid, and hostPID of the Pod");
}

interface PidValues {
  readonly mountPidNamespace: PidNamespace;
  readonly hostPid: boolean;
}
