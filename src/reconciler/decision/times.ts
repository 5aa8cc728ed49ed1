/** What the times in attachments and workloads say. */
import type { PodUid } from "../../core/names.ts";
import type { Workload } from "../domain/workload.ts";
import type { ObservedAttachment } from "./decision.ts";
import type { Entry } from "./entry-steps.ts";

/** Those that came after an attachment with their key had been written were listed in it. RFC 3339 in UTC sorts by time. */
export function isYounger({ startedAt }: Workload, attachment: ObservedAttachment | undefined): boolean {
  return startedAt !== undefined && attachment !== undefined && startedAt >= attachment.metadata.creationTimestamp;
}

/** When a workload was attached, in milliseconds; 0 if it is not. */
export function attachedAt({ after }: Entry, workload: PodUid): number {
  const all = Object.values(after.spec.mountpointS3PodAttachments).flat();
  const found = all.find(({ workloadPodUID }) => workloadPodUID === workload);
  return found === undefined ? 0 : Date.parse(found.attachmentTime);
}

/** Between the deletion of a Mountpoint Pod and that of the last workload, when somebody empties a node. */
const drainMs = 5000;

/** How much longer workloads may be deleted with their Mountpoint Pod; 0 or less: those that are left stay. */
export function drainLeftMs(deletionAskedAt: Date, now: Date): number {
  return deletionAskedAt.getTime() + drainMs - now.getTime();
}
