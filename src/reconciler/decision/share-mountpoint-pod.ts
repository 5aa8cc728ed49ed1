/** Policies that give a workload a Mountpoint Pod that exists. */
import { attachmentName } from "../../core/attachment.ts";
import { isOpen } from "../../core/mountpoint-pod-state.ts";
import type { PodName } from "../../core/names.ts";
import type { Workload } from "../domain/workload.ts";
import { type AttachmentChange, isListed, listedIn } from "./attachment-changes.ts";
import { creationOf, type Draft, identityIn, isTaken, orphanedPods, type Request, type Verdict } from "./draft.ts";
import { isInPreparation } from "./move-mountpoint-pods.ts";

/** Contract 1.5. Workloads with the same sharing key and identity share a Mountpoint Pod. */
export function shareMountpointPod(request: Request): Verdict | undefined {
  const { draft, workload, attachment } = request;
  const mountpointPod = attachment && openPodIn(draft, workload, attachment);
  if (mountpointPod === undefined) return undefined;
  return { assign: { request, mountpointPod, because: "a Mountpoint Pod is open to a workload" } };
}

/** LC-5. A reconciler that ended before it could write the attachment leaves a Mountpoint Pod without one. */
export function adoptMountpointPod(request: Request): Verdict | undefined {
  const { draft, workload, volume, identity } = request;
  const { driverVersion } = draft.observed;
  const needed = { ...volume, identity };
  const own = orphanedPods(draft).find((pod) => pod.createdFor === workload.uid && isOpen(pod, needed, driverVersion));
  if (own === undefined) return undefined;
  return { assign: { request, mountpointPod: own.name, because: "a Mountpoint Pod was made for a workload" } };
}

/**
 * WM-1. A workload without a Mountpoint Pod gets one that waits on its node. A workload whose Mountpoint Pod has died gets a successor of its
 * own: a volume whose Mountpoint Pods keep ending would otherwise use up all that wait. So does a workload with headroom, whose
 * Mountpoint Pod preempts the headroom Pod.
 */
export function takeWaitingPod(request: Request): Verdict | undefined {
  const { draft, workload, listed, attachment, key } = request;
  const { waiting, reserved } = draft.observed;
  if (listed || reserved.has(workload.uid)) return undefined;
  const listing = attachment?.after.metadata.name ?? attachmentName(key);
  const free = waiting.filter(({ name }) => !isListed(draft.attachments, name));
  const mountpointPod = free.find(({ claimedFor = listing }) => claimedFor === listing)?.name;
  if (mountpointPod === undefined) return undefined;
  return { assign: { request, mountpointPod, because: "a Mountpoint Pod waits on the node", takes: true } };
}

/**
 * LC-2. A Mountpoint Pod that is unschedulable, does not start or is down gets no further workload. One that is scheduled is
 * preferred to one that is not.
 */
export function openPodIn(draft: Draft, workload: Workload, attachment: AttachmentChange): PodName | undefined {
  const { volume, driverVersion } = draft.observed;
  if (volume === undefined || "refused" in volume) return undefined;
  const needed = { ...volume, identity: identityIn(draft, workload, volume) };
  const open = listedIn(attachment).filter((name) => {
    const pod = draft.mountpointPods.get(name);
    if (pod !== undefined && isInPreparation(draft, pod)) return false;
    const canServe = pod !== undefined && pod.problem === undefined && isOpen(pod, needed, driverVersion);
    // An attachment that 2.x wrote may list workloads of several accounts.
    const isCreatedFor = creationOf(draft, name)?.purpose.identity === needed.identity;
    return canServe || isCreatedFor || isTaken(draft, name);
  });
  return open.find((name) => isScheduled(draft, name)) ?? open[0];
}

export function isScheduled(draft: Draft, mountpointPod: PodName): boolean {
  return draft.mountpointPods.get(mountpointPod)?.scheduled ?? isTaken(draft, mountpointPod);
}
