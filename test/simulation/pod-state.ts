/** The state of a Pod, as the simulated API server has it. */
import {
  type MountpointPod,
  mountpointPodFrom,
  type WaitingPod,
  waitingPodFrom,
} from "../../src/core/mountpoint-pod-state.ts";
import { annotations, type PodUid } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";

export function isAnnotated({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotations.needsUnmount] === "true";
}

/** Its container has exited. */
export function isDown({ status }: Pod): boolean {
  return status?.containerStatuses?.[0]?.state?.terminated !== undefined;
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function phaseOf({ status }: Pod): string {
  return status?.phase ?? "Pending";
}

/** A Mountpoint Pod, also one that waits for a volume; undefined: another Pod. */
export function ofDriver(pod: Pod): MountpointPod | WaitingPod | undefined {
  return mountpointPodFrom(pod) ?? waitingPodFrom(pod);
}

export function uidOf({ metadata }: Pod): PodUid {
  return metadata.uid as PodUid;
}
