/** Everything that is known about one place, from the view alone: no request is made. */
import { headroomPodName, type PodUid, type PvName } from "../../core/names.ts";
import type { Observed, ObservedAttachment } from "../decision/decision.ts";
import { type VolumeOnNode, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { type View, volumesWith, workloadsOf, workloadsWith } from "./view.ts";

export interface Policy {
  readonly driverVersion: string;
  readonly staleAfterMs: number;
}

export function observe(view: View, place: VolumeOnNode, { driverVersion, staleAfterMs }: Policy, now: Date): Observed {
  const key = volumeOnNodeKey(place);
  const attachments = view.attachments.by("volumeOnNode", key);
  const workloads = workloadsAt(view, place, attachments.flatMap(workloadsOf));
  const mountpointPods = view.mountpointPods.by("volumeOnNode", key);
  const known = new Set<string>([...workloads.map(({ uid }) => uid), ...mountpointPods.map(({ name }) => name)]);
  const named = attachments.flatMap(namedIn).filter(({ id }) => !known.has(id));
  // Contract 1.6: what was attached a moment ago is not judged by what is missing, unless we saw it go. Another leader's clock may be
  // ahead of ours, but not by more than that.
  const isFresh = (atMs: number) => Math.abs(now.getTime() - atMs) < staleAfterMs;
  const notYetObserved = named.filter(({ id, atMs }) => isFresh(atMs) && view.podChanges.mayAppear(id, atMs));
  return {
    now,
    node: place.node,
    volume: view.volumes.get(place.persistentVolume),
    sameHandle: sameHandle(view, place.persistentVolume),
    workloads,
    attachments,
    mountpointPods,
    reserved: new Set(workloads.map(({ uid }) => uid).filter((uid) => isReserved(view, uid, place.persistentVolume))),
    notYetObserved: new Map(notYetObserved.map(({ id, atMs }) => [id, new Date(atMs + staleAfterMs)])),
    driverVersion,
    staleAfterMs,
  };
}

function isReserved(view: View, workload: PodUid, volume: PvName): boolean {
  const name = headroomPodName(workload, volume);
  return view.headroomPods.by("workload", workload).some((pod) => pod.name === name);
}

function sameHandle(view: View, name: PvName): readonly PvName[] {
  const volume = view.volumes.get(name);
  if (volume === undefined || "refused" in volume) return [];
  return volumesWith(view, volume.volumeId).filter((other) => other !== name);
}

function workloadsAt(
  view: View,
  { node, persistentVolume }: VolumeOnNode,
  listed: readonly string[],
): readonly Workload[] {
  const claiming = workloadsWith(view, persistentVolume).filter((workload) => workload.node === node);
  const attached = listed.flatMap((uid) => view.workloads.by("uid", uid));
  return [...new Map([...claiming, ...attached].map((workload) => [workload.uid, workload])).values()];
}

/** Mountpoint Pods and workloads, each with the time at which someone must have known it; the latest time comes last. */
function namedIn({ spec }: ObservedAttachment): readonly { readonly id: string; readonly atMs: number }[] {
  const lists = Object.entries(spec.mountpointS3PodAttachments);
  const named = lists.flatMap(([mountpointPod, served]) =>
    served.flatMap(({ workloadPodUID, attachmentTime }) =>
      [mountpointPod, workloadPodUID].map((id) => ({ id, atMs: Date.parse(attachmentTime) })),
    ),
  );
  return named.toSorted((a, b) => a.atMs - b.atMs);
}
