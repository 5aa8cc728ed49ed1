/**
 * Which Mountpoint Pods and attachments one volume on one node should have. All judgement of the reconciler is here, as a list of
 * policies: pure functions that know no clock, no cache and no API server, so every situation is a row of a table in the tests.
 */
import type { Workload } from "../domain/workload.ts";
import { createMountpointPod, waitForAttachment } from "./create-mountpoint-pod.ts";
import type { Again, Decision, Observed } from "./decision.ts";
import { type Draft, draftOf, type Policy, record, requestOf, type Verdict } from "./draft.ts";
import { listWorkloadsOnce, mergeDuplicates, releaseEndedWorkloads } from "./ended-workloads.ts";
import { unlistIdlePods } from "./idle-pods.ts";
import { keepMountpointPod } from "./keep-mountpoint-pod.ts";
import { moveMountpointPods } from "./move-mountpoint-pods.ts";
import { reportRefusedVolume, warnOwners } from "./reports.ts";
import { restoreAttachment } from "./restore-attachment.ts";
import { adoptMountpointPod, shareMountpointPod, takeWaitingPod } from "./share-mountpoint-pod.ts";
import {
  annotateIdlePods,
  confirmReliedOn,
  createMountpointPods,
  deleteUnneededPods,
  labelAssignedPods,
  writeAttachments,
} from "./steps.ts";

export function decide(observed: Observed): Decision {
  const draft = policies.reduce((before, apply) => apply(before), draftOf(observed));
  const steps = [
    // First: what the other steps write about a Mountpoint Pod is looked for among those of this volume.
    ...labelAssignedPods(draft),
    ...draft.reports,
    ...draft.failedMoves,
    ...confirmReliedOn(draft),
    ...annotateIdlePods(draft),
    ...writeAttachments(draft),
    ...deleteUnneededPods(draft),
    // Last: a quota or an admission policy may refuse a Pod, and that must not hold up the other steps.
    ...createMountpointPods(draft),
  ];
  return { steps, again: earliest(draft.waits) };
}

/** In this order: a policy relies on what the earlier ones have decided. */
const policies: readonly Policy[] = [
  mergeDuplicates, // LC-7
  releaseEndedWorkloads, // DS-7, DS-8, LC-10
  listWorkloadsOnce, // LC-7
  assignMountpointPods, // contract 1.5
  moveMountpointPods, // LC-21, LC-24
  warnOwners, // LC-20
  unlistIdlePods, // DS-7, DS-14
];

/** One workload after the other, so that workloads that arrive together share a Mountpoint Pod. */
function assignMountpointPods(draft: Draft): Draft {
  return draft.workloads.reduce((before, workload) => record(before, verdictOn(before, workload)), draft);
}

/** The first policy that applies to a workload decides about it. */
function verdictOn(draft: Draft, workload: Workload): Verdict {
  const { volume } = draft.observed;
  // Without a PersistentVolume there is nothing to mount. Its creation queues this volume on its nodes again.
  if (volume === undefined) return {};
  const kept = keepMountpointPod(draft, workload); // LC-2
  if (kept !== undefined) return kept;
  if ("refused" in volume) return reportRefusedVolume(draft, workload, volume); // LC-9, LC-11
  const request = requestOf(draft, workload, volume);
  return (
    restoreAttachment(request) ?? // LC-9
    shareMountpointPod(request) ?? // contract 1.5, LC-2
    adoptMountpointPod(request) ?? // LC-5
    takeWaitingPod(request) ?? // WM-1
    waitForAttachment(request) ?? // contract 1.6
    createMountpointPod(request) // LC-2, LC-13
  );
}

function earliest(waits: readonly Again[]): Again | undefined {
  return waits.toSorted((a, b) => a.afterMs - b.afterMs)[0];
}
