/** The part of the status of an attachment that the controller writes. */
import type { AttachmentSpec } from "../../core/attachment.ts";
import {
  type AttachmentStatus,
  type ControllerView,
  conditionSince,
  type StatusCondition,
} from "../../core/attachment-status.ts";
import { isAlive, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import type { PodName } from "../../core/names.ts";
import type { MountpointPodReport } from "./mountpoint-pod/mountpoint-pod-report.ts";
import type { RolloutState } from "./rollout.ts";

export interface StatusInput {
  readonly spec: AttachmentSpec;
  /** The status in the cluster. */
  readonly before: AttachmentStatus | undefined;
  readonly now: Date;
  readonly mountpointPods: ReadonlyMap<PodName, ReportedMountpointPod>;
  /** Why a Mountpoint Pod that has ended cannot be replaced; undefined: it can. */
  readonly irreplaceable: string | undefined;
  readonly rolloutOf: (pod: ReportedMountpointPod) => RolloutState | undefined;
}

export type ReportedMountpointPod = MountpointPod & MountpointPodReport;

/** undefined: nothing to write yet. The scheduler decides within moments, and a write before that would be followed by another. */
export function controllerStatus(input: StatusInput): AttachmentStatus | undefined {
  const { spec, before, now, mountpointPods } = input;
  const names = Object.keys(spec.mountpointS3PodAttachments) as PodName[];
  const listed = names.map((name) => ({ name, pod: mountpointPods.get(name) }));
  const isNew = (before?.conditions ?? []).every(({ type }) => type !== "Assigned");
  if (isNew && listed.some(({ pod }) => pod !== undefined && awaitsScheduler(pod))) return undefined;
  return {
    conditions: [assigned(listed, input.irreplaceable), scheduled(listed)].map((condition) =>
      conditionSince(before, now, condition),
    ),
    mountpointPods: Object.fromEntries(listed.map(({ name, pod }) => [name, viewOf(pod, pod && input.rolloutOf(pod))])),
  };
}

interface Listed {
  readonly name: PodName;
  readonly pod: ReportedMountpointPod | undefined;
}

type Condition = Omit<StatusCondition, "lastTransitionTime">;

function assigned(listed: readonly Listed[], irreplaceable: string | undefined): Condition {
  const lost = listed.find(({ pod }) => pod === undefined || !isAlive(pod));
  if (lost === undefined) {
    const message = "every workload has its Mountpoint Pod";
    return { type: "Assigned", status: "True", reason: "Assigned", message };
  }
  const what = `Mountpoint Pod ${lost.name} ${lost.pod?.problem?.cause ?? "does not exist any more"}`;
  return {
    type: "Assigned",
    status: "False",
    reason: irreplaceable === undefined ? "MountpointPodEnded" : "MountpointPodIrreplaceable",
    message: `${what}. ${irreplaceable ?? "Its workloads get another one."}`,
  };
}

function scheduled(listed: readonly Listed[]): Condition {
  const alive = listed.flatMap(({ pod }) => (pod !== undefined && isAlive(pod) ? [pod] : []));
  const refused = alive.filter(({ problem }) => problem?.kind === "unschedulable");
  if (refused.length > 0) {
    const message = refused.map((pod) => `Mountpoint Pod ${pod.name} ${reasonOf(pod)}`).join(" ");
    return { type: "Scheduled", status: "False", reason: "Unschedulable", message };
  }
  if (alive.some(awaitsScheduler)) {
    const message = "the scheduler has not decided yet";
    return { type: "Scheduled", status: "Unknown", reason: "WaitingForScheduler", message };
  }
  const message = "every Mountpoint Pod has its place on the node";
  return { type: "Scheduled", status: "True", reason: "Scheduled", message };
}

function awaitsScheduler({ scheduled: isScheduled, problem, phase }: ReportedMountpointPod): boolean {
  return phase === "pending" && !isScheduled && problem === undefined;
}

function viewOf(pod: ReportedMountpointPod | undefined, state: RolloutState | undefined): ControllerView {
  if (pod === undefined) return { phase: "Missing", reason: "it does not exist any more" };
  const { driverVersion: version, restarts, phase } = pod;
  const reason = reasonOf(pod);
  const rollout = state === "current" ? undefined : state;
  return {
    ...{ version, phase: phases[phase], restarts },
    ...(reason !== undefined && { reason }),
    ...(rollout !== undefined && { rollout }),
  };
}

const phases = { pending: "Pending", running: "Running", succeeded: "Succeeded", failed: "Failed" } as const;

function reasonOf({ problem }: ReportedMountpointPod): string | undefined {
  return problem && `${problem.cause}. ${problem.fix}`;
}
