/** Lists of attachments, as the model of a volume on a node compares and patches them. */
import { type AttachmentSpec, holderOf, type specPatch } from "../../core/attachment.ts";
import type { PodUid } from "../../core/names.ts";
import type { ObservedAttachment } from "./decision.ts";

export function keyFieldsOf(spec: AttachmentSpec) {
  const { persistentVolumeName, volumeID, mountOptions, workloadFSGroup } = spec;
  return { persistentVolume: persistentVolumeName, volumeId: volumeID, mountOptions, fsGroup: workloadFSGroup };
}

/** Mountpoint Pods, each with a workload that it did not have before. */
export function newHolders(before: readonly ObservedAttachment[], after: AttachmentSpec): readonly [string, PodUid][] {
  const had = (name: string, uid: PodUid) => before.some(({ spec }) => holderOf(spec, uid) === name);
  const listed = Object.entries(after.mountpointS3PodAttachments);
  const pairs = listed.flatMap(([name, list]) => list.map((entry): [string, PodUid] => [name, entry.workloadPodUID]));
  return pairs.filter(([name, uid]) => !had(name, uid));
}

/** A JSON merge patch of the lists. */
export function mergedLists(before: AttachmentSpec, patch: ReturnType<typeof specPatch>) {
  const merged = Object.entries({ ...before.mountpointS3PodAttachments, ...patch.mountpointS3PodAttachments });
  return { mountpointS3PodAttachments: Object.fromEntries(merged.filter(([, list]) => list !== null)) } as Pick<
    AttachmentSpec,
    "mountpointS3PodAttachments"
  >;
}
