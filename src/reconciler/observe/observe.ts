/** What the view has about one volume on one node. Makes no request. */
import { headroomPodName, type PodUid, type PvName } from "../../core/names.ts";
import type { Observed, ObservedAttachment } from "../decision/decision.ts";
import { type VolumeOnNode, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { type View, volumesWith, workloadsAt, workloadsOf } from "./view.ts";

export interface Policy {
  readonly driverVersion: string;
  readonly staleAfterMs: number;
}

export function observe(view: View, of: VolumeOnNode, { driverVersion, staleAfterMs }: Policy, now: Date): Observed {
  const key = volumeOnNodeKey(of);
  const attachments = view.attachments.by("volumeOnNode", key);
  const workloads = workloadsOn(view, of, attachments.flatMap(workloadsOf));
  const mountpointPods = view.mountpointPods.by("volumeOnNode", key);
  const known = new Set<string>([...workloads.map(({ uid }) => uid), ...mountpointPods.map(({ name }) => name)]);
  const named = attachments.flatMap(namedIn).filter(({ id }) => !known.has(id));
  // Contract 1.6: a Pod that a fresh attachment names and the view lacks counts as gone only if the view has seen its removal. The
  // clock of a former leader may be ahead of ours, but not by more than staleAfterMs.
  const isFresh = (atMs: number) => Math.abs(now.getTime() - atMs) < staleAfterMs;
  const notYetObserved = named.filter(({ id, atMs }) => isFresh(atMs) && view.podChanges.mayAppear(id, atMs));
  return {
    now,
    node: of.node,
    volume: view.volumes.get(of.persistentVolume),
    sameHandle: sameHandle(view, of.persistentVolume),
    workloads,
    attachments,
    mountpointPods,
    reserved: new Set(workloads.map(({ uid }) => uid).filter((uid) => isReserved(view, uid, of.persistentVolume))),
    notYetObserved: new Map(notYetObserved.map(({ id, atMs }) => [id, new Date(atMs + staleAfterMs)])),
    driverVersion,
    staleAfterMs,
  };
}

function isReserved(view: View, workload: PodUid, volume: PvName): boolean {
  if (view.headroomPods.count("workload", workload) === 0) return false;
  const name = headroomPodName(workload, volume);
  return view.headroomPods.by("workload", workload).some((pod) => pod.name === name);
}

function sameHandle(view: View, name: PvName): readonly PvName[] {
  const volume = view.volumes.get(name);
  if (volume === undefined || "refused" in volume) return [];
  return volumesWith(view, volume.volumeId).filter((other) => other !== name);
}

function workloadsOn(view: View, of: VolumeOnNode, listed: readonly string[]): readonly Workload[] {
  const claiming = workloadsAt(view, of);
  const attached = listed.flatMap((uid) => view.workloads.by("uid", uid));
  return [...new Map([...claiming, ...attached].map((workload) => [workload.uid, workload])).values()];
}

/** Mountpoint Pods and workloads of an attachment, each with the time at which a reconciler had observed it; the latest time last. */
function namedIn({ spec }: ObservedAttachment): readonly { readonly id: string; readonly atMs: number }[] {
  const lists = Object.entries(spec.mountpointS3PodAttachments);
  const named = lists.flatMap(([mountpointPod, served]) =>
    served.flatMap(({ workloadPodUID, attachmentTime }) =>
      [mountpointPod, workloadPodUID].map((id) => ({ id, atMs: Date.parse(attachmentTime) })),
    ),
  );
  return named.toSorted((a, b) => a.atMs - b.atMs);
}
