import type { InFlight } from "../core/in-flight.ts";
import type { PodName } from "../core/names.ts";
import type { WorkQueue } from "../kube/controller/work-queue.ts";
import type { Attachments } from "./cluster/attachments.ts";
import type { MountS3Log } from "./cluster/mount-s3-log.ts";
import type { MountpointPods } from "./cluster/mountpoint-pods.ts";
import type { NodeConfig } from "./config.ts";
import type { DriverKeys } from "./credentials/driver-keys.ts";
import type { Swapper } from "./heal/swap.ts";
import type { V1Files } from "./legacy/v1-files.ts";
import type { NodeMetrics } from "./metrics.ts";
import type { CommVolumes } from "./mounts/comm-volume.ts";
import type { Kernel } from "./mounts/kernel.ts";
import type { Mounts } from "./mounts/mount-table.ts";
import type { MountRecords } from "./records/mount-records.ts";
import type { PendingHeals } from "./records/pending-heals.ts";
import type { SourceRegistry } from "./source/source-registry.ts";

/** The dependencies of the node plugin; src/bin/node.ts builds them once. */
export interface NodeParts {
  readonly config: Pick<
    NodeConfig,
    "nodeId" | "kubeletDir" | "s3" | "proxy" | "pidNamespaces" | "fallbackToDriverCredentials" | "hangLimitMs"
  >;
  readonly driverVersion: string;
  /** undefined until the API server has answered. */
  readonly kubernetesVersion: () => string | undefined;
  readonly kernel: Kernel;
  readonly mounts: Mounts;
  readonly comm: CommVolumes;
  readonly attachments: Attachments;
  readonly mountpointPods: MountpointPods;
  readonly mountS3Log: MountS3Log;
  readonly driverKeys: DriverKeys;
  readonly v1Files: V1Files;
  readonly sources: SourceRegistry;
  readonly metrics: NodeMetrics;
  readonly inFlight: InFlight;
  readonly records: MountRecords;
  readonly pendingHeals: PendingHeals;
  /** undefined if the host's /proc is not mounted: then containers cannot be entered. */
  readonly swapper: Swapper | undefined;
  /** Queue of Mountpoint Pods whose source may need an unmount. */
  readonly unmounts: WorkQueue<PodName>;
}
