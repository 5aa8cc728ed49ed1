import { InFlight } from "../../core/in-flight.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { NodeConfig } from "../config.ts";
import type { MountCredentials } from "../credentials/credentials.ts";
import type { V1Mounts } from "../legacy/v1-mounts.ts";
import type { NodeMetrics } from "../metrics.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { MountRecords } from "../records/mount-records.ts";
import type { SourceRoom } from "../source/source-room.ts";

export interface PublishSettings
  extends Pick<
    NodeConfig,
    "nodeId" | "stores" | "podIdentity" | "proxy" | "pidNamespaces" | "fallbackToDriverCredentials"
  > {
  readonly driverVersion: string;
  /** Whether healing can enter containers. Otherwise a publish does not wait for it. */
  readonly entersContainers: boolean;
}

export interface PublishCollaborators {
  readonly settings: PublishSettings;
  readonly mounts: NodeMounts;
  readonly cluster: Pick<Cluster, "attachments" | "mountpointPods" | "kubernetesVersion">;
  readonly credentials: MountCredentials;
  readonly records: MountRecords;
  readonly sources: SourceRoom;
  readonly v1: V1Mounts;
  readonly metrics: Pick<NodeMetrics, "step" | "orphanedTargets">;
}

/** Publishing is where all rooms meet: it serves the calls of kubelet. */
export interface PublishRoom extends PublishCollaborators {
  /** Targets with a call in progress. */
  readonly inFlight: InFlight;
}

export function publishRoom(collaborators: PublishCollaborators): PublishRoom {
  return { ...collaborators, inFlight: new InFlight() };
}
