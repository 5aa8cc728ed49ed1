/** A decision while the policies work on it. A policy does not change its draft: it returns a new one. */
import { holderOf, newAttachment, type SharingKey, sharingKey } from "../../core/attachment.ts";
import type { ReportedSource } from "../../core/attachment-status.ts";
import type { Identity, ServiceAccount } from "../../core/identity.ts";
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { PodName, PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { stuckProblem } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
import { identityFor, type S3Volume } from "../domain/persistent-volume.ts";
import { mayHaveStarted, needsVolumes, type Workload } from "../domain/workload.ts";
import type { VolumeWarning, WorkloadWarning } from "../domain/workload-warnings.ts";
import {
  type AttachmentChange,
  type AttachmentChanges,
  isListed,
  listingWorkload,
  unchanged,
  withAssignment,
  withKey,
  withNewAttachment,
} from "./attachment-changes.ts";
import type { Again, Observed, ObservedAttachment, Step } from "./decision.ts";

export interface Draft {
  readonly observed: Observed;
  /** Workloads that need the volume (DS-8), in the order in which the policies decide about them. */
  readonly workloads: readonly Workload[];
  readonly mountpointPods: ReadonlyMap<PodName, ReportedMountpointPod>;
  readonly attachments: AttachmentChanges;
  /** The attachments in which workloads stay that leave another list. */
  readonly reliedOn: readonly ObservedAttachment[];
  /** The Mountpoint Pods that this decision gives to workloads. */
  readonly assigned: readonly Assigned[];
  /** Mountpoint Pods that this decision removes from all attachments, because they serve no workload. */
  readonly unlisted: readonly PodName[];
  readonly failedMoves: readonly FailedMove[];
  readonly reports: readonly Report[];
  /** When to decide again, although nothing else changes; the earliest counts. */
  readonly waits: readonly Again[];
}

export type Policy = (draft: Draft) => Draft;

export type Report = Step & { do: "report" | "reportVolume" };
export type FailedMove = Step & { do: "annotateFailedMove" };
export type CreateMountpointPod = Step & { do: "createMountpointPod" };

/** What a policy decides about one workload; empty: the attachments stay as they are for this workload. */
export interface Verdict {
  readonly assign?: Assign;
  readonly report?: Report;
  readonly wait?: Again;
}

export interface Assign {
  readonly request: Request;
  readonly mountpointPod: PodName;
  readonly because: string;
  /** Set where the Mountpoint Pod does not exist yet. */
  readonly creates?: CreateMountpointPod;
  /** The Mountpoint Pod has waited for a volume (WM-1). */
  readonly takes?: true;
  /** The Mountpoint Pod or its workload had lost its attachment and gets it back (LC-9). */
  readonly restores?: boolean;
}

export interface Assigned extends Pick<Assign, "mountpointPod" | "creates" | "takes" | "restores"> {
  /** The Mountpoint Pod that the workload leaves although it may still serve the workload. */
  readonly leaves: PodName | undefined;
}

/** A workload that needs a Mountpoint Pod for a volume that can be served. */
export interface Request {
  readonly draft: Draft;
  readonly workload: Workload;
  readonly volume: S3Volume;
  readonly key: SharingKey;
  readonly identity: Identity;
  /** Whether an attachment lists the workload. */
  readonly listed: boolean;
  /** The attachment that lists the workload, or else the one with its key; undefined: there is none. */
  readonly attachment: AttachmentChange | undefined;
}

export function draftOf(observed: Observed): Draft {
  return {
    observed,
    workloads: creatorsFirst(observed),
    mountpointPods: mountpointPodsByName(observed),
    attachments: unchanged(observed.attachments, accountsOf(observed.workloads)),
    reliedOn: [],
    assigned: [],
    unlisted: [],
    failedMoves: [],
    reports: [],
    waits: [],
  };
}

/** The accounts that an attachment of these workloads may have lost. Most volumes have workloads of one account. */
function accountsOf(workloads: readonly Workload[]): readonly ServiceAccount[] {
  const accounts = workloads.map(({ namespace, account: name }) => ({ namespace, name }));
  return [...new Map(accounts.map((account) => [`${account.namespace}/${account.name}`, account])).values()];
}

/** kubelet reports a stuck Mountpoint Pod as running: that it has lost its mount is known from its node plugin. */
export function mountpointPodsByName(observed: Observed): ReadonlyMap<PodName, ReportedMountpointPod> {
  const stuck = new Set(observed.attachments.flatMap((attachment) => attachment.stuck ?? []));
  const pods = observed.mountpointPods.map((pod) => (stuck.has(pod.name) ? { ...pod, problem: stuckProblem } : pod));
  return new Map(pods.map((pod) => [pod.name, pod]));
}

/** An orphaned Mountpoint Pod goes to the workload that it was created for, before another workload can take it. */
function creatorsFirst({ workloads, attachments, mountpointPods }: Observed): readonly Workload[] {
  const inCluster = unchanged(attachments);
  const orphaned = mountpointPods.filter(({ name }) => !isListed(inCluster, name));
  const creators = new Set(orphaned.map(({ createdFor }) => createdFor));
  const needing = workloads.filter(needsVolumes);
  return needing.toSorted((a, b) => Number(creators.has(b.uid)) - Number(creators.has(a.uid)));
}

export function requestOf(draft: Draft, workload: Workload, volume: S3Volume): Request {
  const { namespace, account, fsGroup } = workload;
  const ofAccount = volume.credentials.source === "pod" ? { account: { namespace, name: account } } : {};
  const key = sharingKey({ node: draft.observed.node, fsGroup, ...ofAccount }, volume);
  const listing = listingWorkload(draft.attachments, workload.uid);
  const attachment = listing ?? withKey(draft.attachments, key);
  const identity = identityIn(draft, workload, volume);
  return { draft, workload, volume, key, identity, listed: listing !== undefined, attachment };
}

/**
 * DS-15. A workload that runs keeps the identity that it was mounted with, also if its PersistentVolume was created anew with another Secret
 * since: the node plugin brings its mount back in a Mountpoint Pod with that identity only. Mountpoint Pods of 2.x name none.
 */
export function identityIn(draft: Draft, workload: Workload, volume: S3Volume): Identity {
  const mounted = mayHaveStarted(workload) ? holderFor(draft, workload)?.identity : undefined;
  return (mounted as Identity | undefined) ?? identityFor(volume, workload);
}

export function record(draft: Draft, { assign, report, wait }: Verdict): Draft {
  const { reports, waits } = draft;
  return {
    ...(assign === undefined ? draft : recordAssign(draft, assign)),
    reports: report === undefined ? reports : [...reports, report],
    waits: wait === undefined ? waits : [...waits, wait],
  };
}

function recordAssign(draft: Draft, { request, because, ...assign }: Assign): Draft {
  const { workload, attachment, volume, key } = request;
  const { now, driverVersion } = draft.observed;
  const former = holderFor(draft, workload);
  const leaves = former !== undefined && isAlive(former) && !former.terminating ? former.name : undefined;
  const assignment = { mountpointPod: assign.mountpointPod, workload: workload.uid, at: now };
  const authenticationSource = volume.credentials.source;
  const attachments = attachment
    ? withAssignment(draft.attachments, attachment, assignment, because)
    : withNewAttachment(
        draft.attachments,
        newAttachment(key, { driverVersion, authenticationSource }, assignment),
        because,
      );
  return { ...draft, attachments, assigned: [...draft.assigned, { ...assign, leaves }] };
}

/** The Mountpoint Pod that serves the workload as decided so far; undefined: none, or it does not exist. */
export function holderFor(
  { attachments, mountpointPods }: Draft,
  { uid }: Workload,
): ReportedMountpointPod | undefined {
  const listing = listingWorkload(attachments, uid);
  const holder = listing && holderOf(listing.after.spec, uid);
  return holder && mountpointPods.get(holder);
}

/** What the node reports of the source of a Mountpoint Pod; undefined: nothing. */
export function sourceOf({ observed }: Draft, { name }: ReportedMountpointPod): ReportedSource | undefined {
  return observed.attachments.map(({ sources }) => sources?.[name]).find((source) => source !== undefined);
}

/** Mountpoint Pods that no attachment lists, neither in the cluster nor as decided so far. */
export function orphanedPods({ observed, attachments }: Draft): readonly ReportedMountpointPod[] {
  return observed.mountpointPods.filter(({ name }) => !isListed(attachments, name));
}

/** The step that creates this Mountpoint Pod; undefined: the decision does not create it. */
export function creationOf({ assigned }: Draft, mountpointPod: PodName): CreateMountpointPod | undefined {
  return assigned.find((each) => each.mountpointPod === mountpointPod && each.creates !== undefined)?.creates;
}

/** Whether this decision gives the volume a Mountpoint Pod that has waited for one. */
export function isTaken({ assigned }: Draft, mountpointPod: PodName): boolean {
  return assigned.some((each) => each.mountpointPod === mountpointPod && each.takes === true);
}

export function reportOf(workload: Workload, { reason, message }: WorkloadWarning): Report {
  return { do: "report", workload, reason, because: message };
}

export function volumeReportOf(workload: Workload, { reason, message }: VolumeWarning, volume: PvName): Report {
  return { do: "reportVolume", workload, reason, because: message, volume };
}
