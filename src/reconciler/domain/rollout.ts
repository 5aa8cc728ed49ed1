/**
 * LC-21. How far a Mountpoint Pod is on its way to the settings with which it would be created now. Everything follows from the objects in
 * the cluster, so another replica that begins to lead goes on with it. Pure.
 */
import type { ReportedSource } from "../../core/attachment-status.ts";
import { isAlive, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { installationPart, settingsOf } from "./mountpoint-pod/settings-hash.ts";
import { differenceFrom, moveRequests } from "./move.ts";
import type { S3Volume } from "./persistent-volume.ts";

/** What a Mountpoint Pod that is created now would be made with. */
export interface CurrentSettings {
  readonly hash: string;
  /** Free text of the operator: another one makes the rollout try again what has failed. */
  readonly retry: string;
}

/**
 * outdated: it was created with other settings, or by a driver that recorded none. moving: its workloads are asked to leave it, or are about
 * to. failed: that was tried for the settings of now, and it still serves its workloads. skipped: it is outdated, and its workloads cannot
 * be moved before they are restarted, or before a live option of the volume is corrected.
 */
export type RolloutState = "current" | "outdated" | "moving" | "failed" | "skipped";

export interface ServedVolume {
  /** undefined: it does not exist, or is refused. */
  readonly volume: S3Volume | undefined;
  /** Those of the attachment. */
  readonly mountOptions: string;
  /** The number of workloads that the Mountpoint Pod serves. */
  readonly served: number;
  /** What its node reports of it. */
  readonly source: ReportedSource | undefined;
}

/** undefined: the rollout is not concerned with it, because it serves no workload or ends anyway. */
export function rolloutStateOf(
  pod: MountpointPod,
  serves: ServedVolume,
  current: CurrentSettings,
): RolloutState | undefined {
  if (!isAlive(pod) || pod.terminating) return undefined;
  if (serves.served === 0) return isBeingLeft(pod, serves.source) ? "moving" : undefined;
  return pod.needsUnmount ? undefined : stateInUse(pod, serves, current);
}

function stateInUse(
  pod: MountpointPod,
  { volume, mountOptions }: ServedVolume,
  current: CurrentSettings,
): RolloutState {
  if (volume === undefined) return installationPart(pod.settings) === current.hash ? "current" : "skipped";
  const pending = moveRequests(pod, volume).filter((request) => !pod.move.failed.includes(request));
  if (pending.some((request) => !isOfOtherRollout(request, pod, volume, current))) return "moving";
  if (isCurrent(pod, volume, current)) return "current";
  // These say nothing about the settings of the installation, also where a move has failed of them.
  if (volume.live.refusals.length > 0 || differenceFrom(pod, volume, mountOptions) !== undefined) return "skipped";
  return hasFailed(pod, volume, current) ? "failed" : "outdated";
}

/** Whether the rollout has tried to move its workloads, in vain. A later request of an operator may be under way. */
export function hasFailed(pod: Pick<MountpointPod, "move">, volume: VolumeSettings, current: CurrentSettings): boolean {
  return pod.move.failed.includes(rolloutRequest(volume, current));
}

/** Its workloads are listed at its successor. The node plugin reports when it has replaced their mounts. */
function isBeingLeft({ needsUnmount, move }: MountpointPod, source: ReportedSource | undefined): boolean {
  if (!needsUnmount) return move.requested !== undefined;
  return move.to !== undefined && source !== undefined && source.inUse !== false;
}

/** The value of the move annotation with which the rollout asks the workloads of a Mountpoint Pod to leave it. */
export function rolloutRequest(volume: VolumeSettings, { hash, retry }: CurrentSettings): string {
  const request = `${prefix}${settingsOf(hash, volume)}`;
  return retry === "" ? request : `${request}-${retry}`;
}

type VolumeSettings = Pick<S3Volume, "live">;

export function isCurrent(
  { settings }: Pick<MountpointPod, "settings">,
  volume: VolumeSettings,
  { hash }: Pick<CurrentSettings, "hash">,
): boolean {
  return settings === settingsOf(hash, volume);
}

const prefix = "rollout-";

/** Whether it has a request of a rollout to other settings, which has to be withdrawn: after a rollback for example. */
export function hasObsoleteRequest(
  pod: MountpointPod,
  volume: S3Volume | undefined,
  current: CurrentSettings,
): boolean {
  const { requested, failed } = pod.move;
  if (requested === undefined || volume === undefined || failed.includes(requested)) return false;
  return isOfOtherRollout(requested, pod, volume, current);
}

function isOfOtherRollout(
  request: string,
  pod: Pick<MountpointPod, "settings">,
  volume: VolumeSettings,
  current: CurrentSettings,
): boolean {
  return request.startsWith(prefix) && (isCurrent(pod, volume, current) || request !== rolloutRequest(volume, current));
}
