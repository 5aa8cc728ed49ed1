/** Mountpoint Pods that serve no workload. */
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { endsByUnmount } from "../domain/mountpoint-pod/orphaned-pod.ts";
import { idleIn, withoutIdle } from "./attachment-changes.ts";
import { type Draft, sourceOf } from "./draft.ts";
import { isInPreparation } from "./move-mountpoint-pods.ts";

/**
 * DS-7. A Mountpoint Pod that serves no workload leaves the attachment, after it has got the needs-unmount annotation. Two kinds stay
 * listed: one that a workload leaves now and that may still serve it, until the workload's new Mountpoint Pod is written; and one
 * that its node unmounts (DS-14). A successor to which workloads are about to move is not idle (LC-21).
 */
export function unlistIdlePods(draft: Draft): Draft {
  const left = draft.assigned.flatMap(({ leaves }) => leaves ?? []);
  const prepared = [...draft.mountpointPods.values()].filter((pod) => isInPreparation(draft, pod));
  const created = draft.assigned.flatMap(({ creates, mountpointPod }) => (creates === undefined ? [] : mountpointPod));
  // SC-7. One that the view lacks cannot be annotated, and would be lost.
  const unobserved = idleIn(draft.attachments).filter((name) => draft.observed.notYetObserved.has(name));
  const keep = new Set([
    ...left,
    ...created,
    ...unobserved,
    ...[...unmountingPods(draft), ...prepared].map(({ name }) => name),
  ]);
  const { changes, unlisted } = withoutIdle(draft.attachments, keep, "a Mountpoint Pod serves no workload");
  return { ...draft, attachments: changes, unlisted };
}

/**
 * DS-14. A node that reports writes into the attachment whether a source is still in use, so its Mountpoint Pod stays listed until
 * it has ended.
 */
export function unmountingPods(draft: Draft): readonly ReportedMountpointPod[] {
  const left = new Set(draft.assigned.map(({ leaves }) => leaves));
  const pods = idleIn(draft.attachments).flatMap((name) => draft.mountpointPods.get(name) ?? []);
  const idle = pods.filter((pod) => !left.has(pod.name) && !isInPreparation(draft, pod));
  return idle.filter((pod) => endsByUnmount(pod, sourceOf(draft, pod)));
}
