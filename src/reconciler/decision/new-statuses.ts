import { controllerPart, isSameStatus } from "../../core/attachment-status.ts";
import type { PodName } from "../../core/names.ts";
import { controllerStatus, type ReportedMountpointPod } from "../domain/controller-status.ts";
import type { NewStatus, Observed } from "./decision.ts";

/**
 * Of what is listed now, where it is another status than before: a change of the list brings us back. Of a Mountpoint Pod
 * that we have not heard of there is nothing to say yet.
 */
export function newStatuses(
  { now, attachments, volume, notYetObserved }: Observed,
  mountpointPods: ReadonlyMap<PodName, ReportedMountpointPod>,
): readonly NewStatus[] {
  const irreplaceable = irreplaceableBecause(volume);
  return attachments.flatMap((attachment) => {
    const { spec, status: before } = attachment;
    const status = controllerStatus({ spec, before, now, mountpointPods, irreplaceable });
    const isKnown = Object.keys(spec.mountpointS3PodAttachments).every((name) => !notYetObserved.has(name));
    const isNew = isKnown && status !== undefined && !isSameStatus(status, controllerPart(before));
    return isNew ? [{ attachment, status }] : [];
  });
}

function irreplaceableBecause(volume: Observed["volume"]): string | undefined {
  if (volume === undefined) return "It cannot be replaced while its PersistentVolume does not exist.";
  return "refused" in volume ? `It cannot be replaced. ${volume.refused}` : undefined;
}
