/** Builders of what a decision observes: each returns a usual object, and the test passes what is unusual. */
import { type AttachmentSpec, attachmentName, sharingKey } from "../../core/attachment.ts";
import { driverIdentity, podIdentity, type ServiceAccount, secretIdentity } from "../../core/identity.ts";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import {
  mountpointPodName,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "../../core/names.ts";
import { defaultStore } from "../../core/stores/store.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { noLiveOptions, type S3Volume } from "../domain/persistent-volume.ts";
import type { CurrentSettings } from "../domain/rollout.ts";
import type { Workload } from "../domain/workload.ts";
import type { Observed, ObservedAttachment, Step } from "./decision.ts";

export const node = "worker-1" as NodeName;
export const now = new Date("2026-01-15T12:00:00Z");
/** The settings with which a Mountpoint Pod would be created now. */
export const current: CurrentSettings = { hash: "now", retry: "" };
export const longAgo = "2026-01-15T10:00:00Z";
export const volume: S3Volume = {
  name: "data" as PvName,
  volumeId: "handle" as VolumeId,
  mountOptions: [],
  attributes: parseVolumeAttributes({ bucketName: "b" }),
  credentials: { source: "driver", identity: driverIdentity(defaultStore) },
  fallback: undefined,
  readOnly: false,
  cache: undefined,
  claim: undefined,
  moveRequest: undefined,
  live: noLiveOptions,
};

/** The credentials of a volume with a Secret of its own. */
export const ofSecret = {
  source: "secret",
  identity: secretIdentity({ namespace: "shop", name: "keys" }, defaultStore),
} as const;

/** The credentials of a volume that each workload mounts with those of its own account. */
export const ofAccounts = { source: "pod", role: undefined, store: defaultStore } as const;

export const accountA: ServiceAccount = { namespace: "shop", name: "a" };
export const accountB: ServiceAccount = { namespace: "shop", name: "b" };
export const accounts = [accountA, accountB];
export const identityOf = (account: ServiceAccount) => podIdentity(account, ofAccounts.role, ofAccounts.store);

const uids = ["w1", "w2", "w3"] as PodUid[];
export const [w1, w2, w3] = uids as [PodUid, PodUid, PodUid];
export const mp = (uid: PodUid, generation = 0) => mountpointPodName(uid, volume.name, generation);

export function workload(uid: PodUid, but: Partial<Workload> = {}): Workload {
  const usual = { name: uid, namespace: "shop", account: "default", node, fsGroup: "", claims: ["data"] };
  return { uid, ...usual, phase: "pending", terminating: false, startedAt: undefined, ...but };
}

export function pod(name: PodName, but: Partial<ReportedMountpointPod> = {}): ReportedMountpointPod {
  const createdFor = uids.find((uid) => [0, 1, 2].some((generation) => mp(uid, generation) === name)) ?? w1;
  return {
    name,
    uid: `uid of ${name}` as PodUid,
    resourceVersion: "1",
    node,
    persistentVolume: volume.name,
    volumeId: volume.volumeId,
    identity: driverIdentity(defaultStore),
    createdFor,
    createdAt: new Date(longAgo),
    driverVersion: "3.0.0",
    phase: "running",
    terminating: false,
    needsUnmount: false,
    needsUnmountSince: undefined,
    noNewWorkload: false,
    readOnly: false,
    move: noMove,
    settings: current.hash,
    scheduled: true,
    restarts: 0,
    deletionAskedAt: undefined,
    problem: undefined,
    ...but,
  };
}

export function attachment(
  lists: Readonly<Record<string, readonly PodUid[]>>,
  but: {
    readonly fsGroup?: string;
    readonly mountOptions?: string;
    readonly name?: string;
    readonly since?: string;
    /** The account of its workloads. */
    readonly account?: ServiceAccount;
    /** It was created for this account, and has lost the fields that say so. */
    readonly lostAccount?: ServiceAccount;
    readonly sources?: ObservedAttachment["sources"];
  } = {},
): ObservedAttachment {
  const { fsGroup = "", mountOptions = "", since = longAgo, account } = but;
  const served = Object.entries(lists).map(([name, list]) => [
    name,
    list.map((workloadPodUID) => ({ workloadPodUID, attachmentTime: since })),
  ]);
  const spec: AttachmentSpec = {
    nodeName: node,
    persistentVolumeName: volume.name,
    volumeID: volume.volumeId,
    mountOptions,
    workloadFSGroup: fsGroup,
    ...(account !== undefined && {
      ...{ authenticationSource: "pod", workloadNamespace: account.namespace },
      workloadServiceAccountName: account.name,
    }),
    mountpointS3PodAttachments: Object.fromEntries(served),
  };
  const createdFor = account ?? but.lostAccount;
  const key = sharingKey({ node, fsGroup, ...(createdFor !== undefined && { account: createdFor }) }, volume);
  const name = but.name ?? attachmentName(key);
  const metadata = { name, uid: `uid of ${name}`, resourceVersion: "1", creationTimestamp: longAgo };
  return { metadata, spec, observedAtMs: 0, ...(but.sources !== undefined && { sources: but.sources }) };
}

/** An empty cluster; the test adds objects. */
export function seen(but: Partial<Observed>): Observed {
  const nothing = {
    workloads: [],
    attachments: [],
    mountpointPods: [],
    reserved: new Set<PodUid>(),
    notYetObserved: new Set<string>(),
    waiting: [],
    unlabelled: new Set<PodName>(),
  };
  return {
    now,
    node,
    volume,
    sameHandle: [],
    driverVersion: "3.0.0",
    current,
    staleAfterMs: 120_000,
    ...nothing,
    ...but,
  };
}

/** The steps in short: `w1#1` is the second Mountpoint Pod created for w1. */
export function summary({ steps }: { readonly steps: readonly Step[] }): readonly string[] {
  return steps.map((step) => {
    if ("mountpointPod" in step) {
      const condition = step.do === "deleteMountpointPod" ? conditionOf(step) : "";
      return `${aboutPods[step.do]} ${alias(step.mountpointPod.name)}${condition}`;
    }
    switch (step.do) {
      case "report":
      case "reportVolume":
        return `report ${step.reason} to ${step.workload.uid}`;
      case "createMountpointPod":
        return `create ${step.purpose.workload}#${step.purpose.generation}`;
      case "confirmAttachment":
        return `confirm ${step.attachment.metadata.name}`;
      case "createAttachment":
        return `attach ${listsIn(step.attachment.spec)}`;
      case "rewriteAttachment":
        return `rewrite ${listsIn(step.spec)}`;
      case "deleteAttachment":
        return "detach";
      default:
        return step satisfies never;
    }
  });
}

const aboutPods = {
  deleteMountpointPod: "delete",
  annotateForUnmount: "annotate",
  labelMountpointPod: "label",
  annotateFailedMove: "give up moving",
} as const;

function conditionOf({ ifNodeIsGone }: Step & { do: "deleteMountpointPod" }): string {
  return ifNodeIsGone === true ? " if its node is gone" : "";
}

function listsIn(spec: AttachmentSpec): string {
  const all = Object.entries(spec.mountpointS3PodAttachments);
  return all.map(([name, list]) => `${alias(name)}: ${list.map((entry) => entry.workloadPodUID).join(" ")}`).join(", ");
}

function alias(name: string): string {
  const known = uids.flatMap((uid) => [0, 1, 2, 3].map((generation) => [mp(uid, generation), `${uid}#${generation}`]));
  return new Map(known as [string, string][]).get(name) ?? name;
}
