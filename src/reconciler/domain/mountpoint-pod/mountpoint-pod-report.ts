/** Why a Mountpoint Pod does not serve, or will not for long, and what to do, from what scheduler and kubelet report. */

import { startFailure } from "../../../core/failures/start-failure.ts";
import type { MountpointPodObject } from "../../../core/mountpoint-pod-state.ts";
import { mountpointContainer } from "../../../core/names.ts";
import { schedulingProblem } from "../scheduling-problem.ts";

export interface MountpointPodReport {
  readonly scheduled: boolean;
  /** How often kubelet has restarted its container. */
  readonly restarts: number;
  /** When its deletion was requested; undefined: it is not being deleted. */
  readonly deletionAskedAt: Date | undefined;
  readonly problem: PodProblem | undefined;
}

export interface PodProblem {
  /**
   * unschedulable: the scheduler found no room. notStarting: kubelet cannot start a container. crashing: its container has exited and
   * kubelet is about to restart it. backingOff: the same, and kubelet waits before the restart. notRestarting: the same, and kubelet cannot restart it. stuck: it runs, and
   * the node plugin reports that it has lost its mount. leaving: it is being deleted. ended: it will never run again.
   */
  readonly kind:
    | "unschedulable"
    | "notStarting"
    | "crashing"
    | "backingOff"
    | "notRestarting"
    | "stuck"
    | "leaving"
    | "ended";
  /** Continues "Mountpoint Pod X …". */
  readonly cause: string;
  /** A complete sentence. */
  readonly fix: string;
}

/** The fields of a Pod object that `reportFrom` looks at. */
export interface ReportedPod extends MountpointPodObject {
  readonly metadata: MountpointPodObject["metadata"] & {
    readonly namespace?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface ContainerState {
  readonly running?: object;
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason?: string;
    readonly startedAt?: string | null;
    readonly finishedAt?: string | null;
  };
}

export function reportFrom(pod: ReportedPod): MountpointPodReport {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const container = containerOf(pod);
  return {
    scheduled: Boolean(pod.spec.nodeName),
    restarts: container?.restartCount ?? 0,
    // deletionTimestamp is the end of the grace period.
    deletionAskedAt:
      deletionTimestamp === undefined
        ? undefined
        : new Date(Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000),
    problem: problemOf(pod, container),
  };
}

/** kubelet reports such a container as running. */
export const stuckProblem: PodProblem = {
  kind: "stuck",
  cause: "has lost its mount and does not end",
  fix: "Its workloads get another one.",
};

function problemOf(pod: ReportedPod, container: ContainerStatus | undefined): PodProblem | undefined {
  const { status = {}, metadata } = pod;
  const describe = `See: kubectl describe pod -n ${metadata.namespace} ${metadata.name}.`;
  if (status.phase === "Failed" || status.phase === "Succeeded" || exitedCleanly(container)) {
    return { kind: "ended", cause: `has ended (${endOf(status, container)})`, fix: "Its workloads get another one." };
  }
  if (metadata.deletionTimestamp !== undefined) {
    return { kind: "leaving", cause: "is being deleted", fix: "Workloads that stay get another one." };
  }
  return unschedulable(pod, describe) ?? unstarted(pod, container, describe);
}

/** A mount-s3 that has ended matters more than another container that does not start, and is gone until kubelet can start it again. */
function unstarted(pod: ReportedPod, mounter: ContainerStatus | undefined, describe: string): PodProblem | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const end = down(pod, mounter);
  if (mounter === undefined || end === undefined) {
    return notStarting([...initContainerStatuses, ...containerStatuses], describe);
  }
  // After a reboot of the node the init containers run again, before the mounter.
  const cannotRestart = notStarting([...initContainerStatuses, mounter], describe);
  return cannotRestart === undefined ? end : { ...cannotRestart, kind: "notRestarting" };
}

function unschedulable({ spec, status = {} }: ReportedPod, describe: string): PodProblem | undefined {
  if (spec.nodeName) return undefined;
  const verdict = status.conditions?.find(({ type, reason }) => type === "PodScheduled" && reason === "Unschedulable");
  if (verdict?.status !== "False") return undefined;
  const { cause, fix } = schedulingProblem(verdict.message ?? "");
  return { kind: "unschedulable", cause: `has no place on the node: ${cause}`, fix: `${fix} ${describe}` };
}

function notStarting(all: readonly ContainerStatus[], describe: string): PodProblem | undefined {
  const failure = startFailure(all.map(({ state }) => state?.waiting));
  if (failure === undefined) return undefined;
  const { reason, message } = failure;
  const isPull = ["ErrImagePull", "ImagePullBackOff"].includes(reason);
  // kubelet alternates between these two reasons, with one text in two forms. The status must not change each time.
  const text = message.replace(/^Back-off pulling image "[^"]*"(: ErrImagePull: )?/, "");
  // "read udp 10.0.0.1:34143->10.0.0.53:53": the local port is another one in every attempt.
  const detail = text.replaceAll(/ \S+:\d+->/g, " ").slice(0, 300);
  const cause = [isPull ? "its image cannot be pulled" : reason, detail].filter(Boolean).join(": ");
  const fix = imageReasons.has(reason) ? `${imageFix} ${describe}` : describe;
  return { kind: "notStarting", cause: `does not start: ${cause}`, fix };
}

const imageReasons: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
]);

const imageFix =
  "Check the chart's image.repository and image.tag, that the node can pull from there, and that imagePullSecrets exist in the namespace of Mountpoint Pods.";

/**
 * With restartPolicy OnFailure kubelet never restarts a container that exited with code 0. It reports the exit about a second before
 * the phase Succeeded.
 */
function exitedCleanly(container: ContainerStatus | undefined): boolean {
  return container?.state?.terminated?.exitCode === 0;
}

function down({ metadata }: ReportedPod, container: ContainerStatus | undefined): PodProblem | undefined {
  const end = container && endBefore(container);
  if (container === undefined || end === undefined) return undefined;
  const fix = end.reason === "OOMKilled" ? memoryFix : logsOf(metadata);
  const kind = isBackingOff(container) ? "backingOff" : "crashing";
  return { kind, cause: `is down until it is started again (${exitOf(end)})`, fix };
}

/**
 * kubelet reports CrashLoopBackOff only at its next sync, when the first back-off of 10 s is over. Until then the state is `terminated`.
 * kubelet restarts at once only after the first exit, and after an exit that follows ten minutes of running.
 */
function isBackingOff({ state = {}, restartCount }: ContainerStatus): boolean {
  const { waiting, terminated } = state;
  if (terminated === undefined) return waiting?.reason === "CrashLoopBackOff";
  const ranMs = Date.parse(terminated.finishedAt ?? "") - Date.parse(terminated.startedAt ?? "");
  return restartCount > 0 && !(ranMs >= backOffResetMs);
}

/** kubelet resets its back-off after twice the longest one. */
const backOffResetMs = 600_000;

/** How the last run of the container ended; undefined: it runs, or never ran. */
function endBefore({ state = {}, lastState = {} }: ContainerStatus): ContainerState["terminated"] {
  return state.terminated ?? (state.waiting === undefined ? undefined : lastState.terminated);
}

const memoryFix = "In the PersistentVolume: raise volumeAttributes.mountpointContainerResourcesLimitsMemory.";

function logsOf({ namespace, name }: ReportedPod["metadata"]): string {
  return `See: kubectl logs -n ${namespace} ${name} --previous.`;
}

function containerOf({ status }: ReportedPod): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === mountpointContainer);
}

function endOf(status: NonNullable<ReportedPod["status"]>, container: ContainerStatus | undefined): string {
  const { reason, message } = status;
  const text = [reason, message?.slice(0, 300)].filter(Boolean).join(": ");
  const { terminated } = container?.state ?? {};
  return text || (terminated === undefined ? (status.phase ?? "") : exitOf(terminated));
}

function exitOf({ exitCode, reason }: { readonly exitCode: number; readonly reason?: string }): string {
  return [reason, `exit code ${exitCode}`].filter(Boolean).join(", ");
}
