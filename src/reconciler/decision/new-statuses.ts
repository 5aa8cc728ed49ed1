/** The controller's part of the status of attachments. It follows from what is observed alone, not from the decision. */
import { type AttachmentStatus, isSameStatus } from "../../core/attachment-status.ts";
import { controllerStatus } from "../domain/controller-status.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import { mountpointPodsByName } from "./draft.ts";
import { rolloutIn } from "./rollout-in.ts";

export interface NewStatus {
  readonly attachment: ObservedAttachment;
  readonly status: AttachmentStatus;
}

/**
 * The statuses that differ from what is written, for the lists in the cluster now: a write of the lists leads to new statuses by
 * itself. An attachment that lists a Mountpoint Pod that is not yet observed gets none.
 */
export function newStatuses(observed: Observed): readonly NewStatus[] {
  const { now, attachments, volume, notYetObserved } = observed;
  const mountpointPods = mountpointPodsByName(observed);
  const irreplaceable = irreplaceableBecause(volume);
  return attachments.flatMap((attachment) => {
    const { spec, status: before } = attachment;
    const status = controllerStatus({
      ...{ spec, before, now, mountpointPods, irreplaceable },
      rolloutOf: (pod) => rolloutIn(observed, attachment, pod),
    });
    const isKnown = Object.keys(spec.mountpointS3PodAttachments).every((name) => !notYetObserved.has(name));
    const isNew = isKnown && status !== undefined && !isSameStatus(status, before ?? {});
    return isNew ? [{ attachment, status }] : [];
  });
}

function irreplaceableBecause(volume: Observed["volume"]): string | undefined {
  if (volume === undefined) return "It cannot be replaced while its PersistentVolume does not exist.";
  return "refused" in volume ? `It cannot be replaced. ${volume.refused}` : undefined;
}
