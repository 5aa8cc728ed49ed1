/** The steps that bring the cluster to what a finished draft says. */
import { hasSameLists } from "../../core/attachment.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { orphanedPodStep } from "../domain/mountpoint-pod/orphaned-pod.ts";
import { type AttachmentChange, listedIn } from "./attachment-changes.ts";
import type { NewAttachment, Step } from "./decision.ts";
import { creationOf, type Draft, orphanedPods, sourceOf } from "./draft.ts";
import { unmountingPods } from "./idle-pods.ts";
import { servesNobody } from "./move-mountpoint-pods.ts";

/** WM-1. An attachment has assigned a Mountpoint Pod that was created without a volume. */
export function labelAssignedPods({ observed }: Draft): readonly Step[] {
  const { mountpointPods, unlabelled } = observed;
  const volume = observed.volume === undefined || "refused" in observed.volume ? undefined : observed.volume;
  return mountpointPods
    .filter(({ name }) => unlabelled.has(name))
    .map((mountpointPod) => ({ do: "labelMountpointPod", mountpointPod, volume, because: "an attachment lists it" }));
}

/** SC-7. Another replica may have released the workload there, because it knew another of its lists. */
export function confirmReliedOn({ reliedOn }: Draft): readonly Step[] {
  return reliedOn.map((attachment) => ({
    do: "confirmAttachment",
    attachment,
    because: "a workload stays in it and leaves another list",
  }));
}

/** DS-7. Before the attachments are written: a Mountpoint Pod that no attachment lists and that has no annotation would be lost. */
export function annotateIdlePods(draft: Draft): readonly Step[] {
  const unlisted = draft.unlisted.flatMap((name) => draft.mountpointPods.get(name) ?? []);
  const idle = [...unlisted, ...unmountingPods(draft)].filter(({ needsUnmount }) => !needsUnmount);
  return idle.map((mountpointPod) => {
    const listedBy = draft.observed.attachments.filter(
      ({ spec }) => mountpointPod.name in spec.mountpointS3PodAttachments,
    );
    const movedTo = draft.observed.mountpointPods.find(
      ({ name, move }) => move.replaces === mountpointPod.name && !servesNobody(draft, name),
    )?.name;
    return { do: "annotateForUnmount", mountpointPod, listedBy, movedTo, because: "it serves no workload" };
  });
}

/** The attachments for which no Mountpoint Pod is created. */
export function writeAttachments(draft: Draft): readonly Step[] {
  return emptyLast(draft)
    .filter((change) => creationsFor(draft, change).length === 0)
    .flatMap(written);
}

/** Contract 1.3. Each Mountpoint Pod is created before the attachment that lists it. */
export function createMountpointPods(draft: Draft): readonly Step[] {
  return emptyLast(draft).flatMap((change) => {
    const creations = creationsFor(draft, change);
    return creations.length === 0 ? [] : creations.concat(written(change));
  });
}

/** Contract 1.6, LC-3. Every Mountpoint Pod that serves no workload ends. */
export function deleteUnneededPods(draft: Draft): readonly Step[] {
  const unmounting = unmountingPods(draft).filter(({ needsUnmount }) => needsUnmount);
  return [...orphanedPods(draft), ...unmounting].flatMap((pod) => deletion(draft, pod));
}

/** An attachment without a list may have lost its workloads to a duplicate, which is written first (LC-7). */
function emptyLast({ attachments }: Draft): readonly AttachmentChange[] {
  return attachments.toSorted((a, b) => Number(isEmpty(a)) - Number(isEmpty(b)));
}

function isEmpty(change: AttachmentChange): boolean {
  return listedIn(change).length === 0;
}

function creationsFor(draft: Draft, change: AttachmentChange): readonly Step[] {
  return listedIn(change).flatMap((name) => creationOf(draft, name) ?? []);
}

function written(change: AttachmentChange): readonly Step[] {
  const { before, after, reasons } = change;
  const because = reasons.join("; ") || "it lists nothing";
  if (before === undefined) return [{ do: "createAttachment", attachment: after as NewAttachment, because }];
  if (isEmpty(change)) return [{ do: "deleteAttachment", attachment: before, because }];
  // A patch that changes nothing makes no new version, and `act` would wait for one in vain.
  if (hasSameLists(after.spec, before.spec)) return [];
  return [{ do: "rewriteAttachment", attachment: before, spec: after.spec, because }];
}

function deletion(draft: Draft, mountpointPod: ReportedMountpointPod): readonly Step[] {
  const { now, staleAfterMs } = draft.observed;
  const step = orphanedPodStep(mountpointPod, { now, staleAfterMs, source: sourceOf(draft, mountpointPod) });
  return step === undefined ? [] : [{ ...step, mountpointPod }];
}
