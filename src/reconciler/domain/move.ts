/** Moves of workloads from one Mountpoint Pod to another: who asks for one, and when it has failed. Pure. */
import { isAlive, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import type { ReportedMountpointPod } from "./controller-status.ts";
import { isIdentityOf, type S3Volume } from "./persistent-volume.ts";

/** The requests to move the workloads of this Mountpoint Pod: on the Pod, and on its PersistentVolume. */
export function moveRequests(
  { move }: MountpointPod,
  { moveRequest }: Pick<S3Volume, "moveRequest">,
): readonly string[] {
  const ofVolume = moveRequest === move.fulfils ? undefined : moveRequest;
  return [move.requested, ofVolume].filter((request) => request !== undefined);
}

/** A request that failed is not repeated: an operator asks again with another value. */
export function isMoveRequested(pod: MountpointPod, volume: Pick<S3Volume, "moveRequest">): boolean {
  return moveRequests(pod, volume).some((request) => !pod.move.failed.includes(request));
}

/** For the annotation: a failure of the rollout is not forgotten because an operator's request fails after it. */
export function failedRequests({ move }: MountpointPod, requests: readonly string[]): readonly string[] {
  const earlier = move.failed.filter((request) => !requests.includes(request));
  return [...earlier, ...requests].slice(-rememberedRequests);
}

const rememberedRequests = 5;

/** A Mountpoint Pod that is being deleted is left by its workloads anyway (LC-2). */
export function isStaying(pod: MountpointPod): boolean {
  return isAlive(pod) && !pod.terminating && !pod.needsUnmount;
}

/**
 * DS-15, SE-6. What of the PersistentVolume has changed since its workloads mounted it; undefined: nothing that matters. `mountOptions`:
 * those of the attachment. Node plugins record the options of each mount, but not those of 2.x, whose Pods also name no identity.
 */
export function differenceFrom(pod: MountpointPod, volume: S3Volume, mountOptions: string): string | undefined {
  if (pod.volumeId !== undefined && pod.volumeId !== volume.volumeId) return "volumeHandle";
  if (pod.identity === undefined && volume.credentials.source === "pod") return "the source of its credentials";
  if (pod.identity === undefined) return mountOptions === volume.mountOptions.join(",") ? undefined : "mountOptions";
  if (!isIdentityOf(volume, pod.identity)) return "the source of its credentials";
  return pod.readOnly === volume.readOnly ? undefined : "readOnly";
}

/** For the event on the workloads. */
export function stays({ name }: Pick<MountpointPod, "name">, because: string): string {
  return `The volume stays on Mountpoint Pod ${name}, and works as before: ${because}`;
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

const ends: ReadonlySet<string> = new Set(["crashing", "backingOff", "notRestarting", "stuck", "ended"]);

/** When `successorFailure` may change its mind although nothing else changes. */
export function successorWaitMs({ createdAt, problem }: ReportedMountpointPod, now: Date): number {
  return createdAt.getTime() + (problem === undefined ? preparationMs : patienceMs) - now.getTime();
}
