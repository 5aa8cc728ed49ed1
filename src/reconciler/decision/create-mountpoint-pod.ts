/** Policies for a workload that no existing Mountpoint Pod can serve. */
import { mountpointPodName, type PodName } from "../../core/names.ts";
import { nextGeneration, successorDelayMs } from "../domain/mountpoint-pod/succession.ts";
import { isListed } from "./attachment-changes.ts";
import type { Request, Verdict } from "./draft.ts";

/**
 * Contract 1.6. Other changes of the attachment, such as the end of a workload, are written before a Mountpoint Pod is created for it: a
 * quota may refuse the Pod. The write leads to the next decision.
 */
export function waitForAttachment({ attachment }: Request): Verdict | undefined {
  return attachment !== undefined && attachment.reasons.length > 0 ? {} : undefined;
}

/**
 * LC-2, LC-13. A workload without a Mountpoint Pod that can serve it gets its own. Where its Mountpoint Pods keep ending, each successor
 * is created later than the one before.
 */
export function createMountpointPod(request: Request): Verdict {
  const { draft, workload, volume, identity } = request;
  const { node, now, reserved } = draft.observed;
  const isKnown = (name: PodName) => draft.mountpointPods.has(name) || isListed(draft.attachments, name);
  const generation = nextGeneration(workload.uid, volume.name, isKnown);
  const waitMs = attachedMs(request) + successorDelayMs(generation) - now.getTime();
  if (waitMs > 0) return { wait: { afterMs: waitMs, because: "Mountpoint Pods end soon after their start" } };
  const because = generation === 0 ? "no Mountpoint Pod is open to a workload" : "the Mountpoint Pod ended";
  // SE-10: only a workload with a headroom Pod may preempt others.
  const purpose = { volume, identity, node, generation, workload: workload.uid, preempts: reserved.has(workload.uid) };
  const mountpointPod = mountpointPodName(workload.uid, volume.name, generation);
  const creates = { do: "createMountpointPod", workload, purpose, because } as const;
  return { assign: { request, mountpointPod, because, creates } };
}

/** When the workload was attached; 0: it is not, or its time is in the future, for which the workload must not wait. */
function attachedMs({ draft, workload, attachment }: Request): number {
  const listed = Object.values(attachment?.after.spec.mountpointS3PodAttachments ?? {}).flat();
  const found = listed.find(({ workloadPodUID }) => workloadPodUID === workload.uid);
  const atMs = found === undefined ? 0 : Date.parse(found.attachmentTime);
  return atMs > draft.observed.now.getTime() ? 0 : atMs;
}
