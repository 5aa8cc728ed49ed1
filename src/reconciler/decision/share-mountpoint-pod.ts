/** Policies that give a workload a Mountpoint Pod that exists. */
import { isOpen } from "../../core/mountpoint-pod-state.ts";
import type { PodName } from "../../core/names.ts";
import { type AttachmentChange, listedIn } from "./attachment-changes.ts";
import { creationOf, type Draft, orphanedPods, type Request, type Verdict } from "./draft.ts";
import { isInPreparation } from "./move-mountpoint-pods.ts";

/** Contract 1.5. Workloads with the same sharing key and identity share a Mountpoint Pod. */
export function shareMountpointPod(request: Request): Verdict | undefined {
  const { draft, attachment } = request;
  const mountpointPod = attachment && openPodIn(draft, attachment);
  if (mountpointPod === undefined) return undefined;
  return { assign: { request, mountpointPod, because: "a Mountpoint Pod is open to a workload" } };
}

/** LC-5. A reconciler that ended before it could write the attachment leaves a Mountpoint Pod without one. */
export function adoptMountpointPod(request: Request): Verdict | undefined {
  const { draft, workload, volume } = request;
  const { driverVersion } = draft.observed;
  const own = orphanedPods(draft).find((pod) => pod.createdFor === workload.uid && isOpen(pod, volume, driverVersion));
  if (own === undefined) return undefined;
  return { assign: { request, mountpointPod: own.name, because: "a Mountpoint Pod was made for a workload" } };
}

/**
 * LC-2. A Mountpoint Pod that is unschedulable, does not start or is down gets no further workload. One that is scheduled is
 * preferred to one that is not.
 */
export function openPodIn(draft: Draft, attachment: AttachmentChange): PodName | undefined {
  const { volume, driverVersion } = draft.observed;
  if (volume === undefined || "refused" in volume) return undefined;
  const open = listedIn(attachment).filter((name) => {
    const pod = draft.mountpointPods.get(name);
    if (pod !== undefined && isInPreparation(draft, pod)) return false;
    const canServe = pod !== undefined && pod.problem === undefined && isOpen(pod, volume, driverVersion);
    return canServe || creationOf(draft, name) !== undefined;
  });
  return open.find((name) => isScheduled(draft, name)) ?? open[0];
}

export function isScheduled({ mountpointPods }: Draft, mountpointPod: PodName): boolean {
  return mountpointPods.get(mountpointPod)?.scheduled ?? false;
}
