/** Policies that bring the attachments in line with the workloads that exist. */
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { PodUid } from "../../core/names.ts";
import {
  type Listing,
  listedOnce,
  listedTwice,
  listingsOf,
  withoutDuplicates,
  withoutWorkloads,
} from "./attachment-changes.ts";
import { type Draft, sourceOf } from "./draft.ts";

/** LC-7. 2.x can leave several attachments with one key behind, but workloads that may share a mount must be in one attachment. */
export function mergeDuplicates(draft: Draft): Draft {
  return { ...draft, attachments: withoutDuplicates(draft.attachments, "several attachments had the same key") };
}

/**
 * LC-7. Two replicas that saw different mount options, or a late request of a former leader, can list a workload in two attachments. The
 * workload stays on a Mountpoint Pod that serves, and of several on the one of the oldest attachment. If its mount is from another one, the
 * node plugin moves it if both show the same files, and otherwise leaves it: a source that still has bind mounts is never unmounted.
 */
export function listWorkloadsOnce(draft: Draft): Draft {
  const needing = new Set<string>(draft.workloads.map(({ uid }) => uid));
  const twice = listedTwice(draft.attachments).filter((workload) => needing.has(workload));
  return twice.reduce(listOnce, draft);
}

function listOnce(draft: Draft, workload: PodUid): Draft {
  const { attachments, reliedOn, observed } = draft;
  const listings = listingsOf(attachments, workload);
  const [kept] = listings.toSorted((a, b) => (rankOf(draft, a) < rankOf(draft, b) ? -1 : 1));
  const isUnknown = listings.some(({ mountpointPod }) => observed.notYetObserved.has(mountpointPod));
  if (isUnknown || kept === undefined) return draft;
  const { before } = kept.change;
  return {
    ...draft,
    attachments: listedOnce(attachments, workload, kept, "a workload was listed twice"),
    reliedOn: before === undefined || reliedOn.includes(before) ? reliedOn : [...reliedOn, before],
  };
}

/** The lowest is kept. The API server made the times of attachments; the clocks of replicas differ. */
function rankOf(draft: Draft, { mountpointPod, attachmentTime, age }: Listing): string {
  const pod = draft.mountpointPods.get(mountpointPod);
  const isUsable = pod !== undefined && isAlive(pod) && !pod.needsUnmount && !pod.terminating;
  const serves = isUsable && sourceOf(draft, pod)?.health === "serving";
  return `${serves ? 0 : isUsable ? 1 : 2}/${age}/${attachmentTime}`;
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
