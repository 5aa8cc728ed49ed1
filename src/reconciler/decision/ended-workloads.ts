/** Policies that bring the attachments in line with the workloads that exist. */
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import {
  type Listing,
  listedOnce,
  listedTwice,
  listingsOf,
  withoutDuplicates,
  withoutWorkloads,
} from "./attachment-changes.ts";
import type { Draft } from "./draft.ts";

/** LC-7. 2.x can leave several attachments with one key behind, but workloads that may share a mount must be in one attachment. */
export function mergeDuplicates(draft: Draft): Draft {
  return { ...draft, attachments: withoutDuplicates(draft.attachments, "several attachments had the same key") };
}

/**
 * LC-7. Two replicas that saw different mount options, or a request of a former leader that arrived late, can list a workload in two
 * attachments. It stays on the Mountpoint Pod that it got first, unless only another one serves. Whichever it has its mount from: the node
 * plugin never unmounts a source that still has bind mounts.
 */
export function listWorkloadsOnce(draft: Draft): Draft {
  const needing = new Set<string>(draft.workloads.map(({ uid }) => uid));
  const { notYetObserved } = draft.observed;
  const attachments = listedTwice(draft.attachments).reduce((changes, workload) => {
    const listings = listingsOf(changes, workload);
    const isUnknown = listings.some(({ mountpointPod }) => notYetObserved.has(mountpointPod));
    if (isUnknown || !needing.has(workload)) return changes;
    const [kept] = listings.toSorted((a, b) => (rankOf(draft, a) < rankOf(draft, b) ? -1 : 1));
    return kept === undefined ? changes : listedOnce(changes, workload, kept, "a workload was listed twice");
  }, draft.attachments);
  return { ...draft, attachments };
}

/** The lowest is kept. RFC 3339 in UTC sorts by time. */
function rankOf({ mountpointPods }: Draft, { mountpointPod, attachmentTime, age }: Listing): string {
  const pod = mountpointPods.get(mountpointPod);
  const serves = pod !== undefined && isAlive(pod) && !pod.needsUnmount;
  return `${serves ? 0 : 1}/${attachmentTime}/${age}`;
}

/**
 * DS-7, LC-10. A workload that needs no volume any more leaves its list, whatever its PersistentVolume says now. A workload that is
 * not yet observed has not ended. A Mountpoint Pod that is not yet observed cannot get the needs-unmount annotation, so
 * its list stays as it is.
 */
export function releaseEndedWorkloads(draft: Draft): Draft {
  const { notYetObserved } = draft.observed;
  const lists = draft.attachments.flatMap(({ after }) => Object.entries(after.spec.mountpointS3PodAttachments));
  const untouchable = lists.flatMap(([name, served]) => (notYetObserved.has(name) ? served : []));
  const keep = new Set<string>([
    ...draft.workloads.map(({ uid }) => uid),
    ...notYetObserved,
    ...untouchable.map(({ workloadPodUID }) => workloadPodUID),
  ]);
  return { ...draft, attachments: withoutWorkloads(draft.attachments, keep, "a workload ended") };
}
