import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { PodName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { mayHaveStarted, type Workload } from "../domain/workload.ts";
import { isListed, listedIn } from "./attachment-changes.ts";
import type { ObservedAttachment } from "./decision.ts";
import type { Request, Verdict } from "./draft.ts";
import { isInPreparation } from "./move-mountpoint-pods.ts";

/**
 * LC-9. A workload that may have a mount and that no attachment lists gets the Mountpoint Pod of its mount back. Where no Mountpoint Pod
 * can be that of its mount, v1 made the mount, and the workload is left alone.
 */
export function restoreAttachment(request: Request): Verdict | undefined {
  const { draft, workload, listed, attachment } = request;
  if (listed || !mayHaveStarted(workload)) return undefined;
  const shared = sharedBefore(request);
  const mountpointPod = createdFor(request) ?? shared ?? boundTo(request) ?? lostIn(request);
  if (mountpointPod === undefined) return {};
  const listing = draft.attachments.find((change) => listedIn(change).includes(mountpointPod));
  return {
    assign: {
      request: { ...request, attachment: listing ?? attachment },
      mountpointPod,
      because: "the attachment of a running workload was lost",
      restores: listing === undefined || mountpointPod === shared,
    },
  };
}

/** The Mountpoint Pod that was created for the workload comes back even where it lists other workloads. */
function createdFor(request: Request): PodName | undefined {
  return usablePods(request).find((pod) => pod.createdFor === request.workload.uid)?.name;
}

/**
 * The Mountpoint Pod of other workloads, only where this workload must have been listed with them: a workload with a mount of v1 may run
 * on the same node.
 */
function sharedBefore(request: Request): PodName | undefined {
  const { draft, workload, attachment } = request;
  const names = attachment ? listedIn(attachment) : [];
  return startedAfter(workload, attachment?.before)
    ? names.find((name) => usablePods(request).some((pod) => pod.name === name))
    : names.find((name) => draft.assigned.some((each) => each.restores && each.mountpointPod === name));
}

/** A workload that started after an attachment with its key had been written was listed in it. RFC 3339 in UTC sorts by time. */
function startedAfter({ startedAt }: Workload, attachment: ObservedAttachment | undefined): boolean {
  return startedAt !== undefined && attachment !== undefined && startedAt >= attachment.metadata.creationTimestamp;
}

/**
 * DS-14. A Mountpoint Pod with the needs-unmount annotation that was created for the workload: the workload's bind mount keeps the
 * source mounted, and a listed Mountpoint Pod gets a successor when it dies.
 */
function boundTo(request: Request): PodName | undefined {
  const { uid } = request.workload;
  const pods = alivePods(request);
  return pods.find((pod) => pod.needsUnmount && pod.phase === "running" && pod.createdFor === uid)?.name;
}

/** A running Mountpoint Pod that lost its attachment, too. */
function lostIn(request: Request): PodName | undefined {
  const { draft } = request;
  const isLost = ({ name, phase }: ReportedMountpointPod) => phase === "running" && !isListed(draft.attachments, name);
  return usablePods(request).find(isLost)?.name;
}

function usablePods(request: Request): readonly ReportedMountpointPod[] {
  return alivePods(request).filter((pod) => !pod.needsUnmount && !isInPreparation(request.draft, pod));
}

/** ID-1. Those of other accounts never had a mount of the workload. */
function alivePods({ draft, volume, identity }: Request): readonly ReportedMountpointPod[] {
  const alive = draft.observed.mountpointPods.filter(isAlive);
  return volume.credentials.source === "pod" ? alive.filter((pod) => pod.identity === identity) : alive;
}
