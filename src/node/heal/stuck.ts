import type { PodName } from "../../core/names.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import type { HealRoom } from "./heal-room.ts";

/** kubelet reports the termination of a container after a second or two. */
const stuckAfterMs = 30_000;

type Needed = Pick<HealRoom, "mounts" | "records" | "cluster">;

/**
 * Whether mount-s3 has lost its mount and does not exit: it hung and was given up, or its FUSE connection was aborted. kubelet
 * sees a running container and does not restart it, and the node plugin cannot kill it.
 */
export function isStuck(room: Needed, dead: DeadDevice, now: Date): boolean {
  const pod = dead.mountpointPod && room.cluster.mountpointPods.get(dead.mountpointPod);
  if (pod === undefined || pod.phase !== "running" || pod.waiting !== undefined) return false;
  if (now.getTime() - dead.since.getTime() < stuckAfterMs) return false;
  // A node plugin that was down notices a death late: the container may have been restarted before.
  if (hasMountedAgain(room, dead, pod.name)) return false;
  // Without a record no mount was requested from this Pod yet, so its silence proves nothing.
  if (room.records.mounts.get(pod.name) === undefined) return false;
  // The API reports times in whole seconds.
  const hasEnded = Date.parse(pod.lastTermination?.finishedAt ?? "") >= dead.since.getTime() - 1000;
  return !hasEnded;
}

/** A container takes one mount only: a new mount proves that the container was restarted. */
function hasMountedAgain({ mounts }: Needed, { deviceId }: DeadDevice, name: PodName): boolean {
  const mount = mounts.table().source(name);
  return mount !== undefined && mount.deviceId !== deviceId;
}
