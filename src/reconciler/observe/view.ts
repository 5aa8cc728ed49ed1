/** The caches of the reconciler: only objects that concern it, and of those only the fields that it uses. */
import { isDeepStrictEqual } from "node:util";
import { isWarmPodName, type PodName, type PvName, type VolumeId } from "../../core/names.ts";
import { keyOf, Store } from "../../kube/watch/store.ts";
import type { Call } from "../../runtime/call.ts";
import type { ObservedAttachment, Refusal } from "../decision/decision.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { HeadroomPod } from "../domain/mountpoint-pod/headroom-pod.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Reservation } from "../domain/reservation.ts";
import { type VolumeOnNode, type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { ForeignVolumes, isForeign } from "./foreign-volumes.ts";
import { LateWatches } from "./late-watches.ts";
import { PodChanges } from "./pod-changes.ts";

export interface View extends Stores {
  readonly podChanges: PodChanges;
  readonly foreignVolumes: ForeignVolumes;
  readonly lateWatches: LateWatches;
}

interface Stores {
  /** Workloads that need their volumes, except those that are known to use volumes of other drivers only. */
  readonly workloads: Store<Workload, "uid" | "claim" | "node">;
  readonly mountpointPods: Store<ReportedMountpointPod, "volumeOnNode" | "warmPod">;
  /** Mountpoint Pods that say of no volume that they serve it. An attachment may list one already. */
  readonly waitingPods: Store<ReportedWaitingPod, "node" | "name" | "starting">;
  /** Workloads that reserve headroom for their Mountpoint Pods and do not run yet. */
  readonly reservations: Store<Reservation, "uid" | "claim">;
  readonly headroomPods: Store<HeadroomPod, "workload">;
  /** Bound claims. */
  readonly claims: Store<Claim, "volume">;
  /** Volumes of this driver. */
  readonly volumes: Store<S3Volume | Refusal, "handle">;
  readonly attachments: Store<ObservedAttachment, "volumeOnNode" | "volume" | "workload" | "warmPod">;
}

export interface Claim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly volume: PvName;
}

export function emptyView(): View {
  const podChanges = new PodChanges();
  const workloads = new Store<Workload, "uid" | "claim" | "node">(
    { uid: ({ uid }) => [uid], claim: claimsOf, node: ({ node }) => (node === undefined ? [] : [node]) },
    isDeepStrictEqual,
  );
  const mountpointPods = new Store<ReportedMountpointPod, "volumeOnNode" | "warmPod">({
    volumeOnNode: (pod) => [volumeOnNodeKey(pod)],
    warmPod: ({ name }) => (isWarmPodName(name) ? [name] : []),
  });
  const waitingPods = new Store<ReportedWaitingPod, "node" | "name" | "starting">({
    node: ({ node }) => [node],
    name: ({ name }) => [name],
    // Few at a time, however many cannot start.
    starting: ({ phase, problem, warmSettings }) => (phase === "pending" && !problem ? [warmSettings] : []),
  });
  const view: View = {
    podChanges,
    foreignVolumes: new ForeignVolumes(),
    lateWatches: new LateWatches(),
    workloads,
    mountpointPods,
    waitingPods,
    reservations: new Store<Reservation, "uid" | "claim">({ uid: ({ uid }) => [uid], claim: claimsOf }),
    headroomPods: new Store({ workload: ({ workload }) => [workload] }),
    claims: new Store({ volume: ({ volume }) => [volume] }),
    volumes: new Store({ handle: (volume) => ("refused" in volume ? [] : [volume.volumeId]) }),
    attachments: new Store({
      volumeOnNode: (attachment) => [volumeOnNodeOf(attachment)],
      volume: ({ spec }) => [spec.persistentVolumeName],
      workload: workloadsOf,
      warmPod: warmPodsIn,
    }),
  };
  // A Pod that is dropped because it is foreign has not gone. It may have been pending before.
  const isDropped = (workload: Workload) => isForeign(view, { ...workload, phase: "running" });
  recordRemovals(workloads, podChanges, (workload) => (isDropped(workload) ? undefined : workload.uid));
  recordRemovals(mountpointPods, podChanges, ({ name }) => name);
  // One that got its volume has not gone: it is among the others by then.
  const hasVolume = (name: PodName) => mountpointPods.count("warmPod", name) > 0;
  recordRemovals(waitingPods, podChanges, ({ name }) => (hasVolume(name) ? undefined : name));
  return view;
}

/** A Pod may replace another of the same name without a removal in between, so ids are compared. */
function recordRemovals<Kept>(
  store: Store<Kept>,
  podChanges: PodChanges,
  idOf: (kept: Kept) => string | undefined,
): void {
  store.subscribe(({ before, after }) => {
    const id = before && idOf(before);
    if (id !== undefined && (after === undefined || idOf(after) !== id)) podChanges.removed(id, performance.now());
  });
}

/** Resolves when the caches are synced: before that, an object that a cache lacks may exist. */
export async function synced(call: Call, view: View): Promise<void> {
  await Promise.all(storesOf(view).map(([, store]) => store.synced(call)));
}

/** SC-2. The number of objects in each cache; it grows with the Pods that use volumes of this driver and with claims, not with the size of the cluster. */
export function sizesOf(view: View): Readonly<Record<string, number>> {
  return Object.fromEntries(storesOf(view).map(([name, store]) => [name, store.size]));
}

function storesOf(view: View): readonly (readonly [string, Pick<Store<unknown>, "synced" | "size">])[] {
  return Object.entries(view).filter((entry): entry is [string, Store<never>] => entry[1] instanceof Store);
}

export function volumeOnNodeOf({ spec }: ObservedAttachment): VolumeOnNodeKey {
  return volumeOnNodeKey({ node: spec.nodeName, persistentVolume: spec.persistentVolumeName });
}

/** The volumes of this driver that a workload uses, on its node; none while it is not scheduled or its claims are not bound. */
export function volumesOnNodeOf(view: View, workload: Workload): readonly VolumeOnNodeKey[] {
  const { node } = workload;
  if (node === undefined) return [];
  const volumes = claimsOf(workload).flatMap((claim) => view.claims.get(claim)?.volume ?? []);
  const ours = volumes.filter((volume) => view.volumes.get(volume) !== undefined);
  return ours.map((persistentVolume) => volumeOnNodeKey({ node, persistentVolume }));
}

/**
 * Workloads on this node with a claim bound to this volume. Looks at the workloads of the node or at those of the volume, whichever are
 * fewer: a volume may be used on every node, and a Pod without a node may wait for any volume.
 */
export function workloadsAt(view: View, { node, persistentVolume }: VolumeOnNode): readonly Workload[] {
  const claims = view.claims.by("volume", persistentVolume).map(keyOf);
  const ofVolume = claims.reduce((sum, claim) => sum + view.workloads.count("claim", claim), 0);
  if (ofVolume <= view.workloads.count("node", node)) {
    return claims.flatMap((claim) => view.workloads.by("claim", claim)).filter((workload) => workload.node === node);
  }
  const bound = new Set(claims);
  return view.workloads.by("node", node).filter((workload) => claimsOf(workload).some((claim) => bound.has(claim)));
}

/** Workloads with a claim bound to this volume, on any node. */
export function workloadsWith(view: View, volume: PvName): readonly Workload[] {
  return view.claims.by("volume", volume).flatMap((claim) => view.workloads.by("claim", keyOf(claim)));
}

/** The PersistentVolumes with this handle: more than one is a mistake in their manifests. */
export function volumesWith(view: View, handle: VolumeId): readonly PvName[] {
  return view.volumes.by("handle", handle).flatMap((volume) => ("refused" in volume ? [] : [volume.name]));
}

export function workloadsOf({ spec }: ObservedAttachment): readonly string[] {
  const served = Object.values(spec.mountpointS3PodAttachments).flat();
  return [...new Set(served.map(({ workloadPodUID }) => workloadPodUID))];
}

/** The names of listed Mountpoint Pods that were created without a volume. Only these are in the index: most Pods were not. */
function warmPodsIn({ spec }: ObservedAttachment): readonly string[] {
  return Object.keys(spec.mountpointS3PodAttachments).filter(isWarmPodName);
}

function claimsOf({ namespace, claims }: Pick<Workload, "namespace" | "claims">): readonly string[] {
  return claims.map((name) => keyOf({ namespace, name }));
}
