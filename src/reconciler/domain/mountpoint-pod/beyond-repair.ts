/** Which Mountpoint Pods will not serve a workload again in time, although their Pods have not ended. */
import type { ReportedMountpointPod } from "../controller-status.ts";
import type { Workload } from "../workload.ts";

/**
 * kubelet never restarts a container that is stuck or has exited with code 0. A mounter of 2.x exits when the node plugin sends no
 * options soon after its start, and does so after every restart. kubelet restarts our mounter at once after its first exit, and later
 * after a back-off of up to five minutes: a workload that has lost its mount does not wait for that. A workload without a mount does:
 * what fails from the beginning fails in a successor, too, and the status of this Pod says why. The node plugin mounts nothing in a
 * Pod with the needs-unmount annotation, so a mount there is lost with its mount-s3 process.
 */
export function isBeyondRepair(
  { problem, driverVersion, needsUnmount }: ReportedMountpointPod,
  { phase }: Workload,
  ownVersion: string,
): boolean {
  const kind = problem?.kind;
  if (kind === "stuck" || kind === "ended") return true;
  const isAbandoned = driverVersion !== ownVersion || needsUnmount;
  if (kind === "backingOff" || kind === "notRestarting") return isAbandoned || phase === "running";
  return kind === "crashing" && isAbandoned;
}
