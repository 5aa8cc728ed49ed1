/** The custom resource that says which Mountpoint Pod serves which workload: the meeting point of controller and node. */
import { createHash } from "node:crypto";
import type { ServiceAccount } from "./identity.ts";
import {
  attachmentApi,
  driverName,
  labels,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "./names.ts";

/** The fields of an attachment object that this file looks at. */
export interface Attachment {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
  readonly spec: AttachmentSpec;
}

export interface AttachmentSpec {
  readonly nodeName: NodeName;
  readonly persistentVolumeName: PvName;
  readonly volumeID: VolumeId;
  /** The volume's mount options, joined by commas. */
  readonly mountOptions: string;
  /** Decimal, or empty where the workload sets none. */
  readonly workloadFSGroup: string;
  /** Name of a Mountpoint Pod → the workloads it serves. */
  readonly mountpointS3PodAttachments: Readonly<Record<string, readonly WorkloadAttachment[]>>;
  /** Absent on objects that 2.x made or updated: it drops fields it does not know. */
  readonly authenticationSource?: string;
  /** With authenticationSource "pod": the service account of all its workloads. */
  readonly workloadNamespace?: string;
  readonly workloadServiceAccountName?: string;
}

export interface WorkloadAttachment {
  readonly workloadPodUID: PodUid;
  /** RFC 3339, UTC. */
  readonly attachmentTime: string;
}

/**
 * What must be equal for two workloads to meet in one attachment: the five fields of 2.x. The identity (credentials)
 * is not among them, because 2.x, after a rollback, refuses a tuple with two objects: it selects the Mountpoint Pod
 * inside the map instead.
 */
export interface SharingKey {
  readonly node: NodeName;
  readonly persistentVolume: PvName;
  readonly volumeId: VolumeId;
  readonly mountOptions: string;
  readonly fsGroup: string;
  /** The account whose credentials its mounts use; absent where they use others. 2.x refuses such volumes, so a tuple may have several. */
  readonly account?: ServiceAccount;
}

/** One workload served by one Mountpoint Pod, from a moment on. */
export interface Assignment {
  readonly mountpointPod: PodName;
  readonly workload: PodUid;
  readonly at: Date;
}

export function sharingKey(
  workload: { readonly node: NodeName; readonly fsGroup: string; readonly account?: ServiceAccount },
  volume: { readonly name: PvName; readonly volumeId: VolumeId; readonly mountOptions: readonly string[] },
): SharingKey {
  return {
    ...(workload.account !== undefined && { account: workload.account }),
    node: workload.node,
    persistentVolume: volume.name,
    volumeId: volume.volumeId,
    mountOptions: volume.mountOptions.join(","),
    fsGroup: workload.fsGroup,
  };
}

/**
 * Two workloads that may share a mount get the same name, so the API server itself refuses a second attachment and
 * nobody has to remember what was created but not yet seen.
 */
export function attachmentName(key: SharingKey): string {
  const { account } = key;
  const ofAccount = account === undefined ? [] : [account.namespace, account.name];
  const parts = [key.node, key.persistentVolume, key.volumeId, key.mountOptions, key.fsGroup, ...ofAccount];
  return `s3pa-${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}

export function newAttachment(
  key: SharingKey,
  made: { readonly driverVersion: string; readonly authenticationSource: string },
  first: Assignment,
) {
  const spec: AttachmentSpec = {
    nodeName: key.node,
    persistentVolumeName: key.persistentVolume,
    volumeID: key.volumeId,
    mountOptions: key.mountOptions,
    workloadFSGroup: key.fsGroup,
    authenticationSource: made.authenticationSource,
    ...(key.account !== undefined && accountFields(key.account)),
    mountpointS3PodAttachments: { [first.mountpointPod]: [workloadAttachment(first)] },
  };
  return {
    apiVersion: `${driverName}/${attachmentApi.version}`,
    kind: attachmentApi.kind,
    metadata: { name: attachmentName(key), labels: { [labels.driverVersion]: made.driverVersion } },
    spec,
  };
}

/**
 * Every attachment with this key, oldest first. 2.x gives them random names and can leave duplicates behind, so they
 * are found by their fields; whoever adds a workload adds it to the first.
 */
export function findAttachments<T extends Attachment>(attachments: Iterable<T>, key: SharingKey): readonly T[] {
  return [...attachments].filter((attachment) => hasKey(attachment.spec, key)).toSorted(byAge);
}

/**
 * The spec with the account of its workloads, where it lacks that: 2.x drops the account when it updates an attachment, and so does an
 * API server with the definition of 2.x. The name proves whose attachment it is. The same spec where none of `accounts` fits.
 */
export function restoreAccount({ metadata, spec }: Attachment, accounts: Iterable<ServiceAccount>): AttachmentSpec {
  const source = spec.authenticationSource ?? "pod";
  if (source !== "pod" || accountOf(spec).account !== undefined) return spec;
  for (const account of accounts) {
    const restored: AttachmentSpec = { ...spec, authenticationSource: source, ...accountFields(account) };
    if (attachmentName(keyOf(restored)) === metadata.name) return restored;
  }
  return spec;
}

/** The attachments with the same key as this one, itself included, oldest first. */
export function duplicatesOf<T extends Attachment>(attachments: Iterable<T>, { spec }: Attachment): readonly T[] {
  return findAttachments(attachments, keyOf(spec));
}

/** The spec with the lists of a duplicate. A workload that both list keeps its Mountpoint Pod; the same spec if nothing is new. */
export function absorb(spec: AttachmentSpec, duplicate: AttachmentSpec): AttachmentSpec {
  const lists = { ...spec.mountpointS3PodAttachments };
  let isNew = false;
  for (const [mountpointPod, served] of entries(duplicate)) {
    const newcomers = served.filter(({ workloadPodUID }) => holderOf(spec, workloadPodUID) === undefined);
    if (newcomers.length === 0 && lists[mountpointPod] !== undefined) continue;
    lists[mountpointPod] = [...(lists[mountpointPod] ?? []), ...newcomers];
    isNew = true;
  }
  return isNew ? { ...spec, mountpointS3PodAttachments: lists } : spec;
}

/** The Mountpoint Pod that serves this workload here, if any. */
export function holderOf(spec: AttachmentSpec, workload: PodUid): PodName | undefined {
  for (const [mountpointPod, served] of entries(spec)) {
    if (served.some((entry) => entry.workloadPodUID === workload)) return mountpointPod;
  }
  return undefined;
}

/** DS-7. The Mountpoint Pods that are listed here without a workload: they get the needs-unmount annotation, and only then leave the list. */
export function idleMountpointPods(spec: AttachmentSpec): readonly PodName[] {
  return entries(spec).flatMap(([mountpointPod, served]) => (served.length === 0 ? [mountpointPod] : []));
}

/**
 * The workload in exactly one list, that of the given Mountpoint Pod. Assigning again changes nothing, not even the
 * time; a list that the workload leaves stays, even empty, so that its Mountpoint Pod is not forgotten.
 */
export function assignWorkload(spec: AttachmentSpec, assignment: Assignment): AttachmentSpec {
  const { mountpointPod, workload } = assignment;
  if (holderOf(spec, workload) === mountpointPod) return spec;
  const lists = releaseWorkload(spec, workload).mountpointS3PodAttachments;
  const served = [...(lists[mountpointPod] ?? []), workloadAttachment(assignment)];
  return { ...spec, mountpointS3PodAttachments: { ...lists, [mountpointPod]: served } };
}

/** The spec without this workload, whatever the volume says now (LC-10). Emptied lists stay. */
export function releaseWorkload(spec: AttachmentSpec, workload: PodUid): AttachmentSpec {
  if (holderOf(spec, workload) === undefined) return spec;
  const lists = entries(spec).map(([mountpointPod, served]) => [
    mountpointPod,
    served.filter((entry) => entry.workloadPodUID !== workload),
  ]);
  return { ...spec, mountpointS3PodAttachments: Object.fromEntries(lists) };
}

/** The spec without this Mountpoint Pod, unless it serves someone: a workload that came meanwhile is never lost. */
export function dropMountpointPod(spec: AttachmentSpec, mountpointPod: PodName): AttachmentSpec {
  if (!idleMountpointPods(spec).includes(mountpointPod)) return spec;
  const lists = entries(spec).filter(([name]) => name !== mountpointPod);
  return { ...spec, mountpointS3PodAttachments: Object.fromEntries(lists) };
}

/** Whether both say the same of every workload; the order of Mountpoint Pods says nothing. */
export function hasSameLists(a: AttachmentSpec, b: AttachmentSpec): boolean {
  const text = (spec: AttachmentSpec) => JSON.stringify(entries(spec).toSorted(([x], [y]) => (x < y ? -1 : 1)));
  return a === b || text(a) === text(b);
}

/**
 * What turns one spec into the other as a JSON merge patch. Such a patch merges maps: a Mountpoint Pod that is merely
 * absent from it would stay, so every dropped one is named with null. It writes an account that the first spec lacks, and
 * never changes one.
 */
export function specPatch(before: AttachmentSpec, after: AttachmentSpec) {
  const dropped = Object.keys(before.mountpointS3PodAttachments).map((name) => [name, null] as const);
  const lists: Readonly<Record<string, readonly WorkloadAttachment[] | null>> = {
    ...Object.fromEntries(dropped),
    ...after.mountpointS3PodAttachments,
  };
  const { account } = accountOf(before).account === undefined ? accountOf(after) : {};
  const identity = account && { authenticationSource: "pod", ...accountFields(account) };
  return { ...identity, mountpointS3PodAttachments: lists };
}

function keyOf(spec: AttachmentSpec): SharingKey {
  return {
    node: spec.nodeName,
    persistentVolume: spec.persistentVolumeName,
    volumeId: spec.volumeID,
    mountOptions: spec.mountOptions,
    fsGroup: spec.workloadFSGroup,
    ...accountOf(spec),
  };
}

function hasKey(spec: AttachmentSpec, key: SharingKey): boolean {
  return (
    spec.nodeName === key.node &&
    spec.persistentVolumeName === key.persistentVolume &&
    spec.volumeID === key.volumeId &&
    spec.mountOptions === key.mountOptions &&
    spec.workloadFSGroup === key.fsGroup &&
    isSameAccount(accountOf(spec).account, key.account)
  );
}

/** The account of the workloads of an attachment; empty: their mounts use the credentials of no account, or it was lost. */
export function accountOf({
  workloadNamespace,
  workloadServiceAccountName,
}: AttachmentSpec): Pick<SharingKey, "account"> {
  if (!workloadNamespace || !workloadServiceAccountName) return {};
  return { account: { namespace: workloadNamespace, name: workloadServiceAccountName } };
}

function accountFields({ namespace, name }: ServiceAccount) {
  return { workloadNamespace: namespace, workloadServiceAccountName: name };
}

function isSameAccount(a: ServiceAccount | undefined, b: ServiceAccount | undefined): boolean {
  return a?.namespace === b?.namespace && a?.name === b?.name;
}

/** Creation times have whole seconds; the name decides among duplicates, so that every reader picks the same one. */
function byAge(a: Attachment, b: Attachment): number {
  return ageOf(a) < ageOf(b) ? -1 : 1;
}

/** Sorts by creation; unique. */
export function ageOf({ metadata }: Attachment): string {
  return `${metadata.creationTimestamp ?? ""}/${metadata.name}`;
}

function entries(spec: AttachmentSpec): readonly (readonly [PodName, readonly WorkloadAttachment[]])[] {
  return Object.entries(spec.mountpointS3PodAttachments) as [PodName, readonly WorkloadAttachment[]][];
}

function workloadAttachment({ workload, at }: Assignment): WorkloadAttachment {
  // Whole seconds, as Kubernetes writes times.
  return { workloadPodUID: workload, attachmentTime: `${at.toISOString().slice(0, 19)}Z` };
}
