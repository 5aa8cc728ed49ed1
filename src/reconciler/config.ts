/** Flags and environment → the configuration of the reconciler, or every mistake at once. */
import { reconcilerLease } from "../core/names.ts";
import { healthPort, metricsSettings } from "../csi/settings.ts";
import { type ApiLocation, apiLocationFrom, apiSettings } from "../kube/client/api-location.ts";
import type { Candidate } from "../kube/lease/lease.ts";
import { verbosity } from "../runtime/log-settings.ts";
import { seconds, text, toggle } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings } from "../runtime/settings/settings.ts";
import { podIdentitySettings, storeSettings, storesOf } from "../s3/store-settings.ts";
import type { HeadroomConfig } from "./domain/mountpoint-pod/headroom-pod.ts";
import type { MountpointPodConfig } from "./domain/mountpoint-pod/mountpoint-pod.ts";
import type { Installation } from "./domain/persistent-volume.ts";
import { checkHeadroom, headroomFrom, headroomSettings, preemptingClassFrom } from "./headroom/settings.ts";
import { caFrom, caSettings, mountpointPodSettings } from "./mountpoint-pod-settings.ts";
import type { OwnPod } from "./rollout/progress.ts";
import { type RolloutConfig, rolloutFrom, rolloutSettings } from "./rollout/settings.ts";
import { checkWarm, type WarmConfig, warmFrom, warmSettings } from "./warm/settings.ts";

export interface ReconcilerConfig {
  readonly mountpointPods: MountpointPodConfig;
  readonly headroom: HeadroomConfig;
  readonly rollout: RolloutConfig;
  /** The Pod of this process, for events about it; undefined: it is not known. */
  readonly pod: OwnPod | undefined;
  readonly installation: Installation;
  readonly warm: WarmConfig;
  readonly api: ApiLocation;
  /** Undefined: the program serves no health port, as under manifests of 2.x. */
  readonly healthPort: number | undefined;
  /** Whether the health port serves metrics. */
  readonly metrics: boolean;
  /** Whether the API server decides who may read the metrics (SE-7). */
  readonly metricsAuthorization: boolean;
  /** Undefined: there is no election, as under manifests of 2.x. */
  readonly candidate: Candidate | undefined;
  readonly cleanupIntervalMs: number;
  readonly staleAfterMs: number;
  /** For how long reconciling may make no progress before /livez fails, and kubelet restarts the container. */
  readonly stallLimitMs: number;
  readonly verbosity: number;
}

/** The flags and variables of 2.x, and those that our chart and our tests pass. */
const declared = {
  ...mountpointPodSettings,
  ...caSettings,
  ...headroomSettings,
  ...rolloutSettings,
  ...warmSettings,
  // Of the default store, which volumes may name by its address.
  endpointUrl: { variable: "AWS_ENDPOINT_URL", kind: text },
  region: { variable: "AWS_REGION", kind: text, default: "us-east-1" },
  ...storeSettings,
  ...podIdentitySettings,
  podNamespace: { flag: "pod-namespace", variable: "POD_NAMESPACE", kind: text },
  podName: { flag: "pod-name", variable: "POD_NAME", kind: text },
  podUid: { flag: "pod-uid", variable: "POD_UID", kind: text },
  // SC-7. Manifests of 2.x grant no right to leases and do not pass it.
  requireLease: { flag: "require-lease", kind: toggle, default: false },
  ...apiSettings,
  healthPort,
  ...metricsSettings,
  cleanupIntervalMs: { flag: "cleanup-interval-seconds", kind: seconds({ min: 1 }), default: 120_000 },
  staleAfterMs: { flag: "stale-threshold-seconds", kind: seconds({ min: 0 }), default: 120_000 },
  // Far above the longest step of a worker: requests and waits have limits of a minute or two.
  stallLimitMs: { flag: "stall-limit-seconds", kind: seconds({ min: 1 }), default: 600_000 },
  verbosity,
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function reconcilerConfigFrom(
  args: readonly string[],
  env: Environment,
  driverVersion: string,
): ReconcilerConfig {
  const settings = readSettings(declared, { args, env }, [
    checkHeadroom,
    checkWarm,
    storesOf,
    candidateFrom,
    apiLocationFrom,
  ]);
  return Object.freeze<ReconcilerConfig>({
    headroom: headroomFrom(settings, settings.image),
    rollout: rolloutFrom(settings),
    pod: ownPodFrom(settings),
    installation: { stores: storesOf(settings), podIdentity: settings.podIdentity },
    warm: warmFrom(settings, settings.podNamespace),
    mountpointPods: {
      namespace: settings.namespace,
      image: settings.image,
      imagePullPolicy: settings.imagePullPolicy,
      command: settings.command,
      priorityClassName: settings.priorityClassName,
      preemptingPriorityClassName: preemptingClassFrom(settings, settings.priorityClassName),
      driverVersion,
      mountpointVersion: settings.mountpointVersion,
      resources: settings.resources,
      tolerations: settings.tolerations,
      imagePullSecrets: settings.imagePullSecrets,
      extra: { labels: settings.labels, annotations: settings.annotations },
      userBy: settings.userBy,
      ca: caFrom(settings, settings.image),
    },
    api: apiLocationFrom(settings),
    healthPort: settings.healthPort,
    metrics: settings.metrics,
    metricsAuthorization: settings.metricsAuthorization,
    candidate: candidateFrom(settings),
    cleanupIntervalMs: settings.cleanupIntervalMs,
    staleAfterMs: settings.staleAfterMs,
    stallLimitMs: settings.stallLimitMs,
    verbosity: settings.verbosity,
  });
}

interface PodValues {
  readonly podNamespace: string | undefined;
  readonly podName: string | undefined;
  readonly requireLease: boolean;
}

function ownPodFrom({ podNamespace, podName, podUid }: PodValues & { readonly podUid: string | undefined }) {
  if (podNamespace === undefined || podName === undefined || podUid === undefined) return undefined;
  return { namespace: podNamespace, name: podName, uid: podUid };
}

/** The name of the Pod is its identity: no other Pod has it, and kubelet restarts a container only after its process ended. */
function candidateFrom({ podNamespace, podName: identity, requireLease }: PodValues): Candidate | undefined {
  if (podNamespace !== undefined && identity !== undefined) {
    return { lease: { namespace: podNamespace, name: reconcilerLease }, identity, required: requireLease };
  }
  if (requireLease)
    throw new Error("--require-lease needs --pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME)");
  if (podNamespace === undefined && identity === undefined) return undefined;
  throw new Error("--pod-namespace (or POD_NAMESPACE) and --pod-name (or POD_NAME) are of use only together: set both");
}
