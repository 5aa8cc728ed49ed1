import type { Cluster } from "../cluster/cluster.ts";
import type { NodeMetrics } from "../metrics.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { NodeRecords } from "../records/node-records.ts";
import type { SourceRoom } from "../source/source-room.ts";
import type { Swapper } from "../swap/swap.ts";

/** What healing works with. It has no state of its own: dead devices are in the registry of the sources, pending heals in the records. */
export interface HealRoom {
  readonly mounts: NodeMounts;
  readonly cluster: Pick<Cluster, "attachments" | "mountpointPods">;
  readonly sources: SourceRoom;
  readonly records: NodeRecords;
  readonly metrics: NodeMetrics;
  /** undefined if the host's /proc is not mounted: then containers cannot be entered. */
  readonly swapper: Swapper | undefined;
}
