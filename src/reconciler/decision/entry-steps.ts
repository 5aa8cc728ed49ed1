/** The steps that bring the cluster's attachments to what was decided about them. */
import { hasSameLists } from "../../core/attachment.ts";
import type { PodName } from "../../core/names.ts";
import type { RosterEntry } from "../domain/attachment-changes.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { NewAttachment, ObservedAttachment, Step } from "./decision.ts";

export type Entry = RosterEntry<ObservedAttachment, NewAttachment>;

/** Names of the Mountpoint Pods that it lists, as decided so far. */
export function listedIn({ after }: Entry): readonly PodName[] {
  return Object.keys(after.spec.mountpointS3PodAttachments) as PodName[];
}

/** Its workloads may have moved to a twin, which is then written first. */
export function isEmpty(entry: Entry): boolean {
  return listedIn(entry).length === 0;
}

export function marking(mountpointPod: ReportedMountpointPod, because: string): readonly Step[] {
  return mountpointPod.needsUnmount ? [] : [{ do: "annotateForUnmount", mountpointPod, because }];
}

export function writing(entry: Entry): readonly Step[] {
  const { before, after } = entry;
  const because = entry.reasons.join("; ") || "it lists nothing";
  if (before === undefined) return [{ do: "createAttachment", attachment: after as NewAttachment, because }];
  if (isEmpty(entry)) return [{ do: "deleteAttachment", attachment: before, because }];
  // A patch that changes nothing makes no new version, and whoever wrote it would wait for one in vain.
  if (hasSameLists(after.spec, before.spec)) return [];
  return [{ do: "rewriteAttachment", attachment: before, spec: after.spec, because }];
}
