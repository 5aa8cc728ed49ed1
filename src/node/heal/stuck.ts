import type { PodName } from "../../core/names.ts";
import type { NodeParts } from "../node-parts.ts";
import type { DeadDevice } from "../source/dead-devices.ts";

/** kubelet reports the termination of a container after a second or two. */
const stuckAfterMs = 30_000;

type Needed = Pick<NodeParts, "mounts" | "records" | "mountpointPods">;

/**
 * Whether mount-s3 has lost its mount and does not exit: it hung and was given up, or its FUSE connection was aborted. kubelet
 * sees a running container and does not restart it, and the node plugin cannot kill it.
 */
export function isStuck(node: Needed, dead: DeadDevice, now: Date): boolean {
  const pod = dead.mountpointPod && node.mountpointPods.get(dead.mountpointPod);
  if (pod === undefined || pod.phase !== "running" || pod.waiting !== undefined) return false;
  if (now.getTime() - dead.since.getTime() < stuckAfterMs) return false;
  // A node plugin that was down notices a death late: the container may have been restarted before.
  if (hasMountedAgain(node, dead, pod.name)) return false;
  // Without a record no mount was requested from this Pod yet, so its silence proves nothing.
  if (node.records.get(pod.name) === undefined) return false;
  // The API reports times in whole seconds.
  const hasEnded = Date.parse(pod.lastTermination?.finishedAt ?? "") >= dead.since.getTime() - 1000;
  return !hasEnded;
}

/** A container takes one mount only: a new mount proves that the container was restarted. */
function hasMountedAgain({ mounts }: Needed, { minor }: DeadDevice, name: PodName): boolean {
  const mount = mounts().source(name);
  return mount !== undefined && mount.minor !== minor;
}
