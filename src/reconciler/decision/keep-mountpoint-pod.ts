import { holderOf } from "../../core/attachment.ts";
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { isBeyondRepair } from "../domain/mountpoint-pod/beyond-repair.ts";
import { identityFor } from "../domain/persistent-volume.ts";
import { isMounted } from "../domain/reported-source.ts";
import { isCurrent } from "../domain/rollout.ts";
import { isUnreported, mayHaveStarted, type Workload } from "../domain/workload.ts";
import { type AttachmentChange, listingWorkload } from "./attachment-changes.ts";
import { type Draft, sourceOf, type Verdict } from "./draft.ts";
import { usable } from "./rollout-in.ts";
import { isScheduled, openPodIn } from "./share-mountpoint-pod.ts";

/** LC-2. A workload keeps its Mountpoint Pod for as long as that serves it, or will. */
export function keepMountpointPod(draft: Draft, workload: Workload): Verdict | undefined {
  const attachment = listingWorkload(draft.attachments, workload.uid);
  const holder = attachment && holderOf(attachment.after.spec, workload.uid);
  if (attachment === undefined || holder === undefined) return undefined;
  // kubelet mounts nothing more for such a workload. If one of its containers runs, kubelet is about to report that.
  if (isUnreported(workload)) return {};
  const pod = draft.mountpointPods.get(holder);
  if (pod === undefined) return draft.observed.notYetObserved.has(holder) ? {} : undefined;
  if (mustBeReplaced(draft, workload, pod)) return undefined;
  return mayHaveStarted(workload)
    ? keepMounted(draft, workload, pod)
    : keepUntilMounted(draft, workload, { attachment, pod });
}

function mustBeReplaced(draft: Draft, workload: Workload, pod: ReportedMountpointPod): boolean {
  if (!isAlive(pod) || isBeyondRepair(pod, workload, draft.observed.driverVersion)) return true;
  return !workload.terminating && isHeldUpBySettings(draft, pod);
}

/**
 * LC-2. A Mountpoint Pod that is being deleted serves until its grace period is over. A drain deletes workloads within seconds of
 * their Mountpoint Pod: such workloads need no other Mountpoint Pod, on a node that is to become empty.
 */
function keepMounted({ observed }: Draft, workload: Workload, pod: ReportedMountpointPod): Verdict | undefined {
  if (workload.terminating || pod.deletionAskedAt === undefined) return {};
  const waitMs = pod.deletionAskedAt.getTime() + drainMs - observed.now.getTime();
  if (waitMs <= 0) return undefined;
  return { wait: { afterMs: waitMs, because: "a drain may delete the workload of a Mountpoint Pod, too" } };
}

/** How long after a Mountpoint Pod a drain may delete the last of its workloads. */
const drainMs = 5000;

/** A workload without a mount needs a Mountpoint Pod that stays, and does not wait where another one is ready. */
function keepUntilMounted(draft: Draft, workload: Workload, { attachment, pod }: Listed): Verdict | undefined {
  const open = openPodIn(draft, workload, attachment);
  const hasBetter = isHeldUp(pod) && open !== undefined && isScheduled(draft, open);
  return pod.terminating || pod.needsUnmount || hasBetter || isOfOthers(draft, workload, pod) ? undefined : {};
}

/** ID-1. 2.x knows no accounts, and assigns the workloads of all to one Mountpoint Pod. The node plugin mounts nothing there. */
function isOfOthers({ observed }: Draft, workload: Workload, { identity }: ReportedMountpointPod): boolean {
  const volume = usable(observed.volume);
  return volume?.credentials.source === "pod" && identity !== identityFor(volume, workload);
}

/**
 * It does not run, and a Mountpoint Pod that is created now would differ from it: an upgrade may have corrected the image, or the resources
 * for which there was no room. Nothing else would ever replace it, and its workloads would wait for ever. One that serves while another
 * container of its Pod does not start keeps its workloads: a rollout or its operator moves them.
 */
function isHeldUpBySettings(draft: Draft, pod: ReportedMountpointPod): boolean {
  const { current, volume: observed } = draft.observed;
  const volume = usable(observed);
  const { kind } = pod.problem ?? {};
  const hasNeverRun = pod.phase === "pending" && !isMounted(sourceOf(draft, pod));
  const cannotStart = (kind === "unschedulable" || kind === "notStarting") && hasNeverRun;
  return (cannotStart || isDown(pod)) && volume !== undefined && !isCurrent(pod, volume, current);
}

interface Listed {
  readonly attachment: AttachmentChange;
  readonly pod: ReportedMountpointPod;
}

function isHeldUp(pod: ReportedMountpointPod): boolean {
  return pod.problem?.kind === "unschedulable" || isDown(pod);
}

/** Its mount-s3 has ended, and kubelet does not start it again at once. */
function isDown({ problem }: ReportedMountpointPod): boolean {
  return problem?.kind === "backingOff" || problem?.kind === "notRestarting";
}
