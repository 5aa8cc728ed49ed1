/** Policies that bring the attachments in line with the workloads that exist. */
import { withoutDuplicates, withoutWorkloads } from "./attachment-changes.ts";
import type { Draft } from "./draft.ts";

/** LC-7. 2.x can leave several attachments with one key behind, but workloads that may share a mount must be in one attachment. */
export function mergeDuplicates(draft: Draft): Draft {
  return { ...draft, attachments: withoutDuplicates(draft.attachments, "several attachments had the same key") };
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
