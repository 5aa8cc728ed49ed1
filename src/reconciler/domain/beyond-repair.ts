/** Which Mountpoint Pods, although they are alive, have nothing more to give to a workload. */
import type { ReportedMountpointPod } from "./controller-status.ts";
import type { Workload } from "./workload.ts";

/**
 * One that is stuck or has ended well is never started again. A mounter of 2.x gives up when nobody talks to it soon after its
 * start, and so again and again. Ours is started at once after its first death; after that kubelet lets it wait, for up to
 * five minutes, and who has lost a mount does not wait with it. Who is yet to get one stays: what fails from the beginning fails in a
 * successor, too, and this one tells why. The node mounts nothing in one that is marked, by whomever: what was served there is lost
 * with its process.
 */
export function isBeyondRepair(
  { problem, driverVersion, needsUnmount }: ReportedMountpointPod,
  { phase }: Workload,
  ownVersion: string,
): boolean {
  const kind = problem?.kind;
  if (kind === "stuck" || kind === "ended") return true;
  const isGivenUp = driverVersion !== ownVersion || needsUnmount;
  if (kind === "backingOff") return isGivenUp || phase === "running";
  return kind === "crashing" && isGivenUp;
}
