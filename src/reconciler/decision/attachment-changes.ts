/**
 * The attachments of one volume on one node, before and after a decision, each with the reasons for its change. No function
 * here changes its arguments: each returns new changes.
 */
import {
  type Assignment,
  type Attachment,
  type AttachmentSpec,
  absorb,
  ageOf,
  assignWorkload,
  dropMountpointPod,
  duplicatesOf,
  findAttachments,
  holderOf,
  idleMountpointPods,
  releaseWorkload,
  restoreAccount,
  type SharingKey,
  type WorkloadAttachment,
} from "../../core/attachment.ts";
import type { ServiceAccount } from "../../core/identity.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import type { NewAttachment, ObservedAttachment } from "./decision.ts";

export interface AttachmentChange {
  /** The attachment in the cluster; undefined: the decision creates it. */
  readonly before: ObservedAttachment | undefined;
  readonly after: ObservedAttachment | NewAttachment;
  /** Why the attachment changes; empty: it does not. */
  readonly reasons: readonly string[];
}

/** One change per attachment: first the existing attachments, then those that the decision creates. */
export type AttachmentChanges = readonly AttachmentChange[];

/**
 * ID-1. An attachment that has lost its account gets it back, if it is among `accounts`. That is no reason to write the attachment: an API
 * server with the definition of 2.x drops the account again, and makes no new version. The next change of the lists writes it.
 */
export function unchanged(
  attachments: readonly ObservedAttachment[],
  accounts: readonly ServiceAccount[] = [],
): AttachmentChanges {
  return attachments.map((attachment) => {
    const spec = restoreAccount(attachment, accounts);
    const after = spec === attachment.spec ? attachment : { ...attachment, spec };
    return { before: attachment, after, reasons: [] };
  });
}

/** Names of the Mountpoint Pods that the attachment lists after the change. */
export function listedIn({ after }: AttachmentChange): readonly PodName[] {
  return Object.keys(after.spec.mountpointS3PodAttachments) as PodName[];
}

/** The workloads that the attachment lists on this Mountpoint Pod after the change. */
export function servedBy({ after }: AttachmentChange, mountpointPod: PodName): readonly PodUid[] {
  return (after.spec.mountpointS3PodAttachments[mountpointPod] ?? []).map(({ workloadPodUID }) => workloadPodUID);
}

/** The oldest attachment with this key: workloads with the key are added to it. */
export function withKey(changes: AttachmentChanges, key: SharingKey): AttachmentChange | undefined {
  const all = changes.map(({ after }) => after);
  const [oldest] = findAttachments<Attachment>(all, key);
  return changes.find(({ after }) => after === oldest);
}

/** The attachment that lists this workload, whatever its PersistentVolume says now (LC-10). */
export function listingWorkload(changes: AttachmentChanges, workload: PodUid): AttachmentChange | undefined {
  return changes.find(({ after }) => holderOf(after.spec, workload) !== undefined);
}

/** Whether any attachment lists the Mountpoint Pod, before or after its change. */
export function isListed(changes: AttachmentChanges, mountpointPod: PodName): boolean {
  return changes.some(
    ({ before, after }) => hasList(after, mountpointPod) || (before !== undefined && hasList(before, mountpointPod)),
  );
}

/**
 * The oldest of several attachments with one key takes over the lists of the others. The others keep no list, so the decision
 * deletes them, after it has written the oldest.
 */
export function withoutDuplicates(changes: AttachmentChanges, reason: string): AttachmentChanges {
  return changes.reduce((merged, change) => {
    const all = merged.map(({ after }) => after);
    const [first] = duplicatesOf<Attachment>(all, change.after);
    const oldest = merged.find(({ after }) => after === first);
    if (oldest === undefined || oldest.after.metadata.name === change.after.metadata.name) return merged;
    const grown = withSpec(merged, oldest, absorb(oldest.after.spec, change.after.spec), reason);
    return withSpec(grown, change, { ...change.after.spec, mountpointS3PodAttachments: {} }, reason);
  }, changes);
}

/** Releases every workload that is not among `keep`. A list without workloads stays. */
export function withoutWorkloads(
  changes: AttachmentChanges,
  keep: ReadonlySet<string>,
  reason: string,
): AttachmentChanges {
  return changes.reduce((released, change) => {
    const listed = Object.values(change.after.spec.mountpointS3PodAttachments).flat();
    const ended = listed.map(({ workloadPodUID }) => workloadPodUID).filter((uid) => !keep.has(uid));
    return withSpec(released, change, ended.reduce(releaseWorkload, change.after.spec), reason);
  }, changes);
}

/** One entry of a workload in the list of a Mountpoint Pod. */
export interface Listing {
  readonly change: AttachmentChange;
  readonly mountpointPod: PodName;
  readonly attachmentTime: string;
  /** Of the attachment; no other has the same. */
  readonly age: string;
}

/** The workloads with more than one entry: usually there are none. */
export function listedTwice(changes: AttachmentChanges): readonly PodUid[] {
  const seen = new Set<PodUid>();
  const twice = new Set<PodUid>();
  for (const { after } of changes) {
    for (const { workloadPodUID } of Object.values(after.spec.mountpointS3PodAttachments).flat()) {
      if (seen.has(workloadPodUID)) twice.add(workloadPodUID);
      seen.add(workloadPodUID);
    }
  }
  return [...twice];
}

export function listingsOf(changes: AttachmentChanges, workload: PodUid): readonly Listing[] {
  return changes.flatMap((change) => {
    const lists = Object.entries(change.after.spec.mountpointS3PodAttachments) as [
      PodName,
      readonly WorkloadAttachment[],
    ][];
    const age = ageOf(change.after);
    return lists.flatMap(([mountpointPod, served]) =>
      served
        .filter(({ workloadPodUID }) => workloadPodUID === workload)
        .map(({ attachmentTime }) => ({ change, mountpointPod, attachmentTime, age })),
    );
  });
}

/** The workload stays in one attachment, on one Mountpoint Pod. The lists that it leaves stay. */
export function listedOnce(
  changes: AttachmentChanges,
  workload: PodUid,
  { change, mountpointPod, attachmentTime }: Listing,
  reason: string,
): AttachmentChanges {
  return changes.reduce((before, each) => {
    const isKept = each === change;
    if (isKept && listingsOf([each], workload).length === 1) return before;
    const released = releaseWorkload(each.after.spec, workload);
    const kept = { mountpointPod, workload, at: new Date(attachmentTime) };
    return withSpec(before, each, isKept ? assignWorkload(released, kept) : released, reason);
  }, changes);
}

/** Lists the workload on the Mountpoint Pod in an attachment that is among `changes`. */
export function withAssignment(
  changes: AttachmentChanges,
  change: AttachmentChange,
  assignment: Assignment,
  reason: string,
): AttachmentChanges {
  return withSpec(changes, change, assignWorkload(change.after.spec, assignment), reason);
}

/** Lists the Mountpoint Pod without workloads, so that its node plugin reports on it. */
export function withEmptyList(
  changes: AttachmentChanges,
  change: AttachmentChange,
  mountpointPod: PodName,
  reason: string,
): AttachmentChanges {
  const { spec } = change.after;
  const lists = { ...spec.mountpointS3PodAttachments, [mountpointPod]: [] };
  return withSpec(changes, change, { ...spec, mountpointS3PodAttachments: lists }, reason);
}

export function withNewAttachment(
  changes: AttachmentChanges,
  attachment: NewAttachment,
  reason: string,
): AttachmentChanges {
  return put(changes, { before: undefined, after: attachment, reasons: [reason] });
}

/** Mountpoint Pods that an attachment lists without a workload, and no attachment with one. */
export function idleIn(changes: AttachmentChanges): readonly PodName[] {
  const specs = changes.map(({ after }) => after.spec);
  const names = new Set(specs.flatMap(idleMountpointPods));
  const serves = (name: PodName) => specs.some((spec) => (spec.mountpointS3PodAttachments[name] ?? []).length > 0);
  return [...names].filter((name) => !serves(name));
}

export interface WithoutIdle {
  readonly changes: AttachmentChanges;
  /** Mountpoint Pods that no attachment lists any more. */
  readonly unlisted: readonly PodName[];
}

/** Drops the lists without workloads, except those of the Mountpoint Pods in `keep`. */
export function withoutIdle(changes: AttachmentChanges, keep: ReadonlySet<PodName>, reason: string): WithoutIdle {
  const idleOf = ({ after }: AttachmentChange) => idleMountpointPods(after.spec).filter((name) => !keep.has(name));
  const dropped = changes.reduce(
    (rest, change) => withSpec(rest, change, idleOf(change).reduce(dropMountpointPod, change.after.spec), reason),
    changes,
  );
  const names = new Set(changes.flatMap(idleOf));
  return {
    changes: dropped,
    unlisted: [...names].filter((name) => !dropped.some(({ after }) => hasList(after, name))),
  };
}

/** Core returns the same spec where it changes nothing: then the attachment gets no reason. */
function withSpec(
  changes: AttachmentChanges,
  change: AttachmentChange,
  spec: AttachmentSpec,
  reason: string,
): AttachmentChanges {
  const { after } = change;
  if (spec === after.spec) return changes;
  const reasons = [...new Set([...change.reasons, reason])];
  return put(changes, { ...change, after: { ...after, spec }, reasons });
}

/**
 * Replaces the change of the same attachment, or else appends. An existing attachment whose name is that of a new one stays among the
 * changes: its Mountpoint Pods would otherwise count as orphaned.
 */
function put(changes: AttachmentChanges, change: AttachmentChange): AttachmentChanges {
  const { name } = change.after.metadata;
  const index = changes.findIndex(({ before, after }) => before === change.before && after.metadata.name === name);
  return index < 0 ? [...changes, change] : changes.with(index, change);
}

function hasList({ spec }: Attachment, mountpointPod: PodName): boolean {
  return Object.hasOwn(spec.mountpointS3PodAttachments, mountpointPod);
}
