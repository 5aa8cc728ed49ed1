/** Moves of workloads from one Mountpoint Pod to another: who asks for one, and when it has failed. Pure. */
import { isAlive, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import type { ReportedMountpointPod } from "./controller-status.ts";
import type { S3Volume } from "./persistent-volume.ts";

/**
 * The request to move the workloads of this Mountpoint Pod, on the Pod or on its PersistentVolume; undefined: there is none. A request that
 * failed is not repeated: an operator asks again with another value.
 */
export function moveRequestOf({ move }: MountpointPod, { moveRequest }: Pick<S3Volume, "moveRequest">) {
  const ofVolume = moveRequest === move.fulfils ? undefined : moveRequest;
  return [move.requested, ofVolume].find((request) => request !== undefined && request !== move.failed);
}

/** A Mountpoint Pod that is being deleted is left by its workloads anyway (LC-2). */
export function isStaying(pod: MountpointPod): boolean {
  return isAlive(pod) && !pod.terminating && !pod.needsUnmount;
}

/** DS-15, SE-6. Why the current PersistentVolume does not describe the mount that its workloads have; undefined: it does. */
export function differenceFrom(pod: MountpointPod, volume: S3Volume): string | undefined {
  if (pod.volumeId !== undefined && pod.volumeId !== volume.volumeId) return "its volumeHandle";
  if (pod.identity !== undefined && pod.identity !== volume.identity) return "the source of its credentials";
  return pod.readOnly === volume.readOnly ? undefined : "readOnly";
}

/** Time for a scheduler that preempts other Pods, and for a registry that fails once. */
const patienceMs = 30_000;
/** Time for large images, and for a node plugin that is being replaced. */
const preparationMs = 300_000;

/** Why a successor will not serve in time; undefined: it may. */
export function successorFailure(pod: ReportedMountpointPod, now: Date): string | undefined {
  const { name, problem, restarts, createdAt } = pod;
  const ageMs = now.getTime() - createdAt.getTime();
  if (problem !== undefined && (ends.has(problem.kind) || ageMs >= patienceMs)) {
    return `Mountpoint Pod ${name} ${problem.cause}`;
  }
  if (restarts > 0) return `mount-s3 in Mountpoint Pod ${name} ended soon after its start`;
  return ageMs < preparationMs ? undefined : `Mountpoint Pod ${name} did not serve within five minutes`;
}

const ends: ReadonlySet<string> = new Set(["crashing", "backingOff", "stuck", "ended"]);

/** When `successorFailure` may change its mind although nothing else changes. */
export function successorWaitMs({ createdAt, problem }: ReportedMountpointPod, now: Date): number {
  return createdAt.getTime() + (problem === undefined ? preparationMs : patienceMs) - now.getTime();
}
