/**
 * LC-21, LC-24. Moves the workloads of a Mountpoint Pod to a successor, in three decisions: create the successor and list it without
 * workloads; wait until the node plugin reports that its mount serves; list the workloads there. The node plugin then replaces the
 * mounts, and the former Mountpoint Pod ends like any other that serves no workload. Until the last decision nothing has changed for the
 * workloads, so a successor that fails is only removed.
 */

import type { Identity } from "../../core/identity.ts";
import { mountpointPodName, type PodName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { nextGeneration } from "../domain/mountpoint-pod/succession.ts";
import {
  differenceFrom,
  isMoveRequested,
  isStaying,
  moveRequests,
  stays,
  successorFailure,
  successorWaitMs,
} from "../domain/move.ts";
import { identityFor, type S3Volume } from "../domain/persistent-volume.ts";
import { isCurrent } from "../domain/rollout.ts";
import { mayHaveStarted, type Workload } from "../domain/workload.ts";
import {
  type AttachmentChange,
  isListed,
  listedIn,
  servedBy,
  withAssignment,
  withEmptyList,
} from "./attachment-changes.ts";
import type { Again } from "./decision.ts";
import { type Draft, reportOf, sourceOf } from "./draft.ts";
import { usable } from "./rollout-in.ts";

export function moveMountpointPods(draft: Draft): Draft {
  const names = draft.attachments.flatMap((change) => listedIn(change).map((pod) => ({ change, pod })));
  return names.reduce((before, { change, pod }) => {
    const move = moveIn(before, change.after.metadata.name, pod);
    return move === undefined ? before : proceed(before, move);
  }, draft);
}

interface Move {
  readonly change: AttachmentChange;
  readonly from: ReportedMountpointPod;
  readonly volume: S3Volume;
  /** Of the first of the workloads. */
  readonly identity: Identity;
  /** The workloads that `from` serves. */
  readonly workloads: readonly Workload[];
}

/** undefined: the workloads of this Mountpoint Pod stay. */
function moveIn(draft: Draft, attachment: string, name: PodName): Move | undefined {
  const change = draft.attachments.find(({ after }) => after.metadata.name === attachment);
  const from = draft.mountpointPods.get(name);
  if (change === undefined || from === undefined) return undefined;
  const volume = volumeToMove(draft, from);
  if (volume === undefined) return undefined;
  const served = new Set<string>(servedBy(change, name));
  const workloads = draft.workloads.filter(({ uid }) => served.has(uid));
  // A workload that has no mount yet mounts first: the record of that mount is what the successor is mounted from.
  const [first] = workloads;
  if (first === undefined || !workloads.some(mayHaveStarted)) return undefined;
  return { change, from, volume, identity: identityFor(volume, first), workloads };
}

/** undefined: no move of its workloads is requested, or none is possible. */
function volumeToMove({ observed: { volume } }: Draft, pod: ReportedMountpointPod): S3Volume | undefined {
  if (volume === undefined || "refused" in volume || !isStaying(pod)) return undefined;
  return isMoveRequested(pod, volume) ? volume : undefined;
}

function proceed(draft: Draft, move: Move): Draft {
  const { change, from, volume } = move;
  // The successor would run without what the operator moves the workloads for.
  const [refusal] = volume.live.refusals;
  if (refusal !== undefined) return fail(draft, move, refusal);
  const difference = differenceFrom(from, volume, change.after.spec.mountOptions);
  if (difference !== undefined) {
    return fail(
      draft,
      move,
      `PersistentVolume ${volume.name} has changed ${difference} since its workloads mounted it`,
    );
  }
  if (move.workloads.some((workload) => identityFor(volume, workload) !== move.identity)) {
    return fail(draft, move, "its workloads have different service accounts: start them anew");
  }
  const successor = [...draft.mountpointPods.values()].find(
    (pod) => pod.move.replaces === from.name && isSuccessor(draft, pod),
  );
  if (successor === undefined) return hasUnobserved(draft, change) ? draft : prepare(draft, move);
  if (!listedIn(change).includes(successor.name)) return list(draft, move, successor.name);
  if (sourceOf(draft, successor)?.health === "serving") return takeOver(draft, move, successor.name);
  const failure = successorFailure(successor, draft.observed.now);
  if (failure !== undefined) return fail(draft, move, failure);
  const afterMs = successorWaitMs(successor, draft.observed.now);
  return wait(draft, { afterMs, because: "a successor does not serve yet" });
}

/** SC-7. A list without workloads whose Pod the view lacks may be that of the successor. */
function hasUnobserved({ observed, mountpointPods }: Draft, change: AttachmentChange): boolean {
  const empty = listedIn(change).filter((name) => servedBy(change, name).length === 0);
  return empty.some((name) => !mountpointPods.has(name) && observed.notYetObserved.has(name));
}

function prepare(draft: Draft, move: Move): Draft {
  const { change, from, volume, workloads } = move;
  // Other changes of the attachment are written first: a quota may refuse the Pod.
  const [workload] = workloads;
  if (workload === undefined || change.reasons.length > 0) return draft;
  const isKnown = (name: PodName) => draft.mountpointPods.has(name) || isListed(draft.attachments, name);
  const generation = nextGeneration(workload.uid, volume.name, isKnown);
  const mountpointPod = mountpointPodName(workload.uid, volume.name, generation);
  const { node } = draft.observed;
  const purpose = { volume, identity: move.identity, node, generation, workload: workload.uid, replaces: from.name };
  const because = "a move was requested";
  const refusable = { from, requests: moveRequests(from, volume), workloads };
  const creates = { do: "createMountpointPod", workload, purpose, move: refusable, because } as const;
  return list(
    { ...draft, assigned: [...draft.assigned, { mountpointPod, creates, leaves: undefined }] },
    move,
    mountpointPod,
  );
}

function list(draft: Draft, { change }: Move, successor: PodName): Draft {
  return { ...draft, attachments: withEmptyList(draft.attachments, change, successor, "a move was requested") };
}

function takeOver(draft: Draft, { change, from, workloads }: Move, successor: PodName): Draft {
  const { now } = draft.observed;
  const name = change.after.metadata.name;
  const attachments = workloads.reduce((changes, { uid }) => {
    const latest = changes.find(({ after }) => after.metadata.name === name) ?? change;
    const assignment = { mountpointPod: successor, workload: uid, at: now };
    return withAssignment(changes, latest, assignment, "its successor serves");
  }, draft.attachments);
  return { ...draft, attachments, assigned: [...draft.assigned, { mountpointPod: successor, leaves: from.name }] };
}

/** The annotation ends the request, and with it the protection of the successor, which then ends like any other idle Pod. */
function fail(draft: Draft, { from, volume, workloads }: Move, because: string): Draft {
  const message = stays(from, because);
  const reports = workloads.map((workload) => reportOf(workload, { reason: "VolumeNotMoved", message }));
  // Both requests at once: one of the volume would only repeat what one of the Pod has tried.
  const requests = moveRequests(from, volume);
  const failed = { do: "annotateFailedMove", mountpointPod: from, requests, because } as const;
  return { ...draft, reports: [...draft.reports, ...reports], failedMoves: [...draft.failedMoves, failed] };
}

function wait(draft: Draft, again: Again): Draft {
  return { ...draft, waits: [...draft.waits, again] };
}

/** Whether workloads are about to move to this Mountpoint Pod: until its mount serves, no workload gets it, and it is not idle. */
export function isInPreparation(draft: Draft, pod: ReportedMountpointPod): boolean {
  const former = pod.move.replaces && draft.mountpointPods.get(pod.move.replaces);
  if (former === undefined || volumeToMove(draft, former) === undefined) return false;
  return isSuccessor(draft, pod) && !servesNobody(draft, former.name);
}

/** A successor with the settings of before an upgrade, or a rollback, ends as one that is idle, and another one is created. */
function isSuccessor(draft: Draft, pod: ReportedMountpointPod): boolean {
  const volume = usable(draft.observed.volume);
  const isWanted = volume !== undefined && isCurrent(pod, volume, draft.observed.current);
  return isWanted && isStaying(pod) && servesNobody(draft, pod.name);
}

export function servesNobody({ attachments }: Draft, name: PodName): boolean {
  return attachments.every((change) => servedBy(change, name).length === 0);
}
