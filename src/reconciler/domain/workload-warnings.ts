/** Warnings for the owner of a workload about its volume and its Mountpoint Pod. */

import type { ReasonOn } from "../../core/failures/event-catalogue.ts";
import type { PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "./controller-status.ts";
import type { S3Volume } from "./persistent-volume.ts";

interface Warning<Reason> {
  readonly reason: Reason;
  /** Cause and remedy, for people. */
  readonly message: string;
}

export type WorkloadWarning = Warning<ReasonOn<"Pod">>;

/** Concerns every Pod that uses the volume. */
export type VolumeWarning = Warning<ReasonOn<"PersistentVolumeClaim">>;

/** LC-20. undefined also for a Mountpoint Pod that crashes or is gone: kubelet and the node plugin emit events about those. */
export function holderWarning(volume: PvName, { name, problem }: ReportedMountpointPod): WorkloadWarning | undefined {
  const reason = problem && holderReasons[problem.kind];
  if (reason === undefined) return undefined;
  const message = `Mountpoint Pod ${name} of PersistentVolume ${volume} ${problem?.cause}. ${problem?.fix}`;
  return { reason, message };
}

const holderReasons: Readonly<Record<string, ReasonOn<"Pod">>> = {
  unschedulable: "MountpointPodUnschedulable",
  notStarting: "MountpointPodNotStarting",
  notRestarting: "MountpointPodNotStarting",
};

/** kubelet identifies a volume by its handle alone: of two volumes with one handle it mounts one. */
export function handleWarning(volume: PvName, sameHandle: readonly PvName[]): VolumeWarning | undefined {
  if (sameHandle.length === 0) return undefined;
  const others = sameHandle.toSorted().slice(0, 3).join(", ");
  return {
    reason: "VolumeHandleShared",
    message:
      `PersistentVolume ${volume} has the same csi.volumeHandle as ${others}: kubelet takes them for one volume, ` +
      "and a Pod that uses both never starts. In the PersistentVolume: give each a volumeHandle of its own.",
  };
}

/** The volume is served as if these annotations were not there. */
export function liveWarnings({ name, live }: S3Volume): readonly VolumeWarning[] {
  return live.refusals.map((refusal) => ({
    reason: "LiveOptionsRefused",
    message: `PersistentVolume ${name}: ${refusal}`,
  }));
}
