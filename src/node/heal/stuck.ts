import type { NodeParts } from "../node-parts.ts";
import type { DeadMount } from "./dead-mounts.ts";

/** kubelet tells of the end of a container in a second or two. */
const stuckAfterMs = 30_000;

/**
 * Whether mount-s3 has lost its mount and does not end: it hung and was given up, or somebody cut its connection. kubelet
 * sees a container that runs, so nobody starts it again, and from here it cannot be killed.
 */
export function isStuck({ mountpointPods }: Pick<NodeParts, "mountpointPods">, dead: DeadMount, now: Date): boolean {
  const pod = dead.mountpointPod && mountpointPods.get(dead.mountpointPod);
  if (pod === undefined || pod.phase !== "running" || pod.waiting !== undefined) return false;
  if (now.getTime() - dead.since.getTime() < stuckAfterMs) return false;
  // The API tells whole seconds.
  const hasEnded = Date.parse(pod.lastEnd?.finishedAt ?? "") >= dead.since.getTime() - 1000;
  return !hasEnded;
}
