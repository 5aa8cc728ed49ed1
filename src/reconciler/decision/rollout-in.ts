import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { type RolloutState, rolloutStateOf } from "../domain/rollout.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";

/** How far a Mountpoint Pod that the attachment lists is in the rollout; undefined: the rollout is not concerned with it. */
export function rolloutIn(
  { volume, current }: Observed,
  { spec, sources }: ObservedAttachment,
  pod: ReportedMountpointPod,
): RolloutState | undefined {
  const serves = {
    volume: volume === undefined || "refused" in volume ? undefined : volume,
    mountOptions: spec.mountOptions,
    served: (spec.mountpointS3PodAttachments[pod.name] ?? []).length,
    source: sources?.[pod.name],
  };
  return rolloutStateOf(pod, serves, current);
}
