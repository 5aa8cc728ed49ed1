/** What the view has about one volume on one node. Makes no request. */
import { headroomPodName, type PodUid, type PvName } from "../../core/names.ts";
import type { Observed, ObservedAttachment } from "../decision/decision.ts";
import type { CurrentSettings } from "../domain/rollout.ts";
import { type VolumeOnNode, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { type View, volumesWith, workloadsAt, workloadsOf } from "./view.ts";

export interface Policy {
  readonly driverVersion: string;
  readonly current: CurrentSettings;
  readonly staleAfterMs: number;
}

export function observe(view: View, of: VolumeOnNode, policy: Policy, now: Date): Observed {
  const key = volumeOnNodeKey(of);
  const attachments = view.attachments.by("volumeOnNode", key);
  const workloads = workloadsOn(view, of, attachments.flatMap(workloadsOf));
  const mountpointPods = view.mountpointPods.by("volumeOnNode", key);
  const known = new Set<string>([...workloads.map(({ uid }) => uid), ...mountpointPods.map(({ name }) => name)]);
  const missing = attachments.flatMap(namedIn).filter(({ id }) => !known.has(id));
  const notYetObserved = missing.filter(({ id, atMs }) => !view.podChanges.isGone(id, atMs)).map(({ id }) => id);
  return {
    now,
    node: of.node,
    volume: view.volumes.get(of.persistentVolume),
    sameHandle: sameHandle(view, of.persistentVolume),
    workloads,
    attachments,
    mountpointPods,
    reserved: new Set(workloads.map(({ uid }) => uid).filter((uid) => isReserved(view, uid, of.persistentVolume))),
    notYetObserved: new Set(notYetObserved),
    ...policy,
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

/** Mountpoint Pods and workloads of an attachment, each with the time at which this replica observed the attachment. */
function namedIn({
  spec,
  observedAtMs,
}: ObservedAttachment): readonly { readonly id: string; readonly atMs: number }[] {
  const lists = Object.entries(spec.mountpointS3PodAttachments);
  const names = lists.map(([mountpointPod]) => mountpointPod);
  const workloads: readonly string[] = lists.flatMap(([, served]) =>
    served.map(({ workloadPodUID }) => workloadPodUID),
  );
  const ids = names.concat(workloads);
  return ids.map((id) => ({ id, atMs: observedAtMs }));
}
