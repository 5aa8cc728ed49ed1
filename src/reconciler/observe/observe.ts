/** What the view has about one volume on one node. Makes no request. */
import { headroomPodName, isWarmPodName, type PodName, type PodUid, type PvName } from "../../core/names.ts";
import type { Observed, ObservedAttachment } from "../decision/decision.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { assignedPod, type ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import type { CurrentSettings } from "../domain/rollout.ts";
import { type VolumeOnNode, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { Workload } from "../domain/workload.ts";
import { type View, volumesWith, workloadsAt, workloadsOf } from "./view.ts";

export interface Policy {
  readonly driverVersion: string;
  readonly current: CurrentSettings;
  readonly staleAfterMs: number;
  /** The waiting Mountpoint Pods that this volume may take; undefined: none ever. */
  readonly waitingFor?: (of: VolumeOnNode) => readonly ReportedWaitingPod[];
  /** The attachment for which a waiting Mountpoint Pod is claimed. */
  readonly claimedFor?: (mountpointPod: PodName) => string | undefined;
}

export function observe(view: View, of: VolumeOnNode, policy: Policy, now: Date): Observed {
  const { waitingFor, claimedFor, ...others } = policy;
  const key = volumeOnNodeKey(of);
  const attachments = view.attachments.by("volumeOnNode", key);
  const workloads = workloadsOn(view, of, attachments.flatMap(workloadsOf));
  const unlabelled = unlabelledPods(view, attachments);
  const mountpointPods = [...view.mountpointPods.by("volumeOnNode", key), ...unlabelled];
  const known = new Set<string>([...workloads.map(({ uid }) => uid), ...mountpointPods.map(({ name }) => name)]);
  const missing = attachments.flatMap(namedIn).filter(({ id }) => !known.has(id) && !isOfOtherVolume(view, id));
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
    waiting: (waitingFor?.(of) ?? []).map(({ name }) => ({ name, claimedFor: claimedFor?.(name) })),
    unlabelled: new Set(unlabelled.map(({ name }) => name)),
    ...others,
  };
}

/** Waiting Mountpoint Pods that these attachments list: they are those of their volume, although they do not say so yet. */
function unlabelledPods(view: View, attachments: readonly ObservedAttachment[]): readonly ReportedMountpointPod[] {
  return attachments.flatMap((attachment) => {
    const names = Object.keys(attachment.spec.mountpointS3PodAttachments).filter(isWarmPodName);
    const pods = names.flatMap((name) => (ownerOf(view, name) === attachment ? waitingPod(view, name) : []));
    const volume = view.volumes.get(attachment.spec.persistentVolumeName);
    const known = volume === undefined || "refused" in volume ? undefined : volume;
    return pods.map((pod) => assignedPod(pod, attachment.spec, known));
  });
}

/**
 * The attachment whose volume a waiting Mountpoint Pod serves. A second one can list it only if a write of a former leader arrives much too
 * late; its workloads then get another Mountpoint Pod.
 */
function ownerOf(view: View, name: PodName): ObservedAttachment | undefined {
  return view.attachments.by("warmPod", name).toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))[0];
}

function ageOf({ metadata }: ObservedAttachment): string {
  return `${metadata.creationTimestamp}/${metadata.name}`;
}

function waitingPod(view: View, name: PodName): readonly ReportedWaitingPod[] {
  return view.waitingPods.by("name", name);
}

/** The view has this Mountpoint Pod, and it serves another volume: it is not missing, and no Mountpoint Pod of this volume. */
function isOfOtherVolume(view: View, id: string): boolean {
  if (!isWarmPodName(id)) return false;
  return view.mountpointPods.count("warmPod", id) > 0 || view.waitingPods.count("name", id) > 0;
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
