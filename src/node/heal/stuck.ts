import type { PodName } from "../../core/names.ts";
import type { NodeParts } from "../node-parts.ts";
import type { DeadDevice } from "../source/dead-devices.ts";

/** kubelet tells of the end of a container in a second or two. */
const stuckAfterMs = 30_000;

type Needed = Pick<NodeParts, "mounts" | "records" | "mountpointPods">;

/**
 * Whether mount-s3 has lost its mount and does not end: it hung and was given up, or somebody cut its connection. kubelet
 * sees a container that runs, so nobody starts it again, and from here it cannot be killed.
 */
export function isStuck(node: Needed, dead: DeadDevice, now: Date): boolean {
  const pod = dead.mountpointPod && node.mountpointPods.get(dead.mountpointPod);
  if (pod === undefined || pod.phase !== "running" || pod.waiting !== undefined) return false;
  if (now.getTime() - dead.since.getTime() < stuckAfterMs) return false;
  // A node plugin that was away noticed the death late: the container may have ended, and begun anew, before.
  if (hasMountedAgain(node, dead, pod.name)) return false;
  // Nobody could ask it for a mount yet, so it has shown nothing.
  if (node.records.get(pod.name) === undefined) return false;
  // The API tells whole seconds.
  const hasEnded = Date.parse(pod.lastTermination?.finishedAt ?? "") >= dead.since.getTime() - 1000;
  return !hasEnded;
}

/** Only a container that began anew takes another mount. */
function hasMountedAgain({ mounts }: Needed, { minor }: DeadDevice, name: PodName): boolean {
  const mount = mounts().source(name);
  return mount !== undefined && mount.minor !== minor;
}
