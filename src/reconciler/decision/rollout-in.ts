import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import { type RolloutState, rolloutStateOf } from "../domain/rollout.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";

/** How far a Mountpoint Pod that the attachment lists is in the rollout; undefined: the rollout is not concerned with it. */
export function rolloutIn(
  { volume, current }: Observed,
  { spec, sources }: ObservedAttachment,
  pod: ReportedMountpointPod,
): RolloutState | undefined {
  const serves = {
    volume: usable(volume),
    mountOptions: spec.mountOptions,
    served: (spec.mountpointS3PodAttachments[pod.name] ?? []).length,
    source: sources?.[pod.name],
  };
  return rolloutStateOf(pod, serves, current);
}

/** undefined: the volume does not exist, or is refused. */
export function usable(volume: Observed["volume"]): S3Volume | undefined {
  return volume === undefined || "refused" in volume ? undefined : volume;
}
