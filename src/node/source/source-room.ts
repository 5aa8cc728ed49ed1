import type { PodName } from "../../core/names.ts";
import type { Stores } from "../../core/stores/store.ts";
import { WorkQueue } from "../../kube/controller/work-queue.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { MountCredentials } from "../credentials/credentials.ts";
import type { NodeMetrics } from "../metrics.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { MountRecords } from "../records/mount-records.ts";
import { SourceRegistry } from "./source-registry.ts";

export interface SourceCollaborators {
  readonly mounts: NodeMounts;
  readonly cluster: Pick<Cluster, "attachments" | "mountpointPods" | "mountS3Log">;
  readonly credentials: MountCredentials;
  readonly stores: Stores;
  readonly records: MountRecords;
  readonly metrics: Pick<NodeMetrics, "hangs" | "step">;
  /** Whether mount-s3 is asked to export its figures. */
  readonly exportsFigures: boolean;
  /** How long a mount may hang before it is given up; 0: without limit. */
  readonly hangLimitMs: number;
}

/** The sources of this node: mounting, probing and unmounting them. */
export interface SourceRoom extends SourceCollaborators {
  readonly registry: SourceRegistry;
  /** Queue of Mountpoint Pods whose source may need an unmount. */
  readonly unmounts: WorkQueue<PodName>;
}

export function sourceRoom(collaborators: SourceCollaborators): SourceRoom & Disposable {
  const unmounts = new WorkQueue<PodName>();
  return {
    ...collaborators,
    registry: new SourceRegistry(),
    unmounts,
    [Symbol.dispose]: () => unmounts[Symbol.dispose](),
  };
}
