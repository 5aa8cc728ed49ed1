/** Lists of attachments, as the model of a volume on a node compares and patches them. */
import { type AttachmentSpec, accountOf, holderOf, type specPatch } from "../../core/attachment.ts";
import type { PodUid } from "../../core/names.ts";
import type { ObservedAttachment } from "./decision.ts";

export function keyFieldsOf(spec: AttachmentSpec) {
  const { persistentVolumeName, volumeID, mountOptions, workloadFSGroup } = spec;
  const fields = { persistentVolume: persistentVolumeName, volumeId: volumeID, mountOptions, fsGroup: workloadFSGroup };
  return { ...fields, ...accountOf(spec) };
}

/** Mountpoint Pods, each with a workload that it did not have before. */
export function newHolders(before: readonly ObservedAttachment[], after: AttachmentSpec): readonly [string, PodUid][] {
  const had = (name: string, uid: PodUid) => before.some(({ spec }) => holderOf(spec, uid) === name);
  const listed = Object.entries(after.mountpointS3PodAttachments);
  const pairs = listed.flatMap(([name, list]) => list.map((entry): [string, PodUid] => [name, entry.workloadPodUID]));
  return pairs.filter(([name, uid]) => !had(name, uid));
}

/** A JSON merge patch, as the API server applies it. */
export function patched(before: AttachmentSpec, patch: ReturnType<typeof specPatch>): AttachmentSpec {
  const merged = Object.entries({ ...before.mountpointS3PodAttachments, ...patch.mountpointS3PodAttachments });
  const lists = Object.fromEntries(merged.filter(([, list]) => list !== null));
  return { ...before, ...patch, mountpointS3PodAttachments: lists as AttachmentSpec["mountpointS3PodAttachments"] };
}

/** What is left of a spec after an API server with the definition of 2.x has stored it. */
export function withoutAccount(spec: AttachmentSpec): AttachmentSpec {
  const { authenticationSource: _source, workloadNamespace: _space, workloadServiceAccountName: _name, ...kept } = spec;
  return kept;
}
