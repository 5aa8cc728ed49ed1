/** What is to become of a Mountpoint Pod that no attachment lists. */
import type { ReportedMountpointPod } from "./controller-status.ts";

export interface Leftover {
  readonly do: "markForUnmount" | "deleteMountpointPod";
  readonly because: string;
}

/** undefined: nothing now. One that is young may be waiting for its attachment to be written. */
export function leftoverTask(pod: ReportedMountpointPod, now: Date, staleAfterMs: number): Leftover | undefined {
  if (!pod.needsUnmount) {
    const stale = now.getTime() - pod.createdAt.getTime() >= staleAfterMs;
    return stale ? { do: "markForUnmount", because: "cleanup: no attachment lists it" } : undefined;
  }
  if (pod.terminating) return undefined;
  const because = endOf(pod);
  return because === undefined ? undefined : { do: "deleteMountpointPod", because };
}

/** undefined while it is the node's turn: it unmounts, and the Pod then ends by itself. */
function endOf({ phase, trouble }: ReportedMountpointPod): string | undefined {
  switch (phase) {
    case "pending":
      return "it never started and is not needed";
    case "running":
      // A mounter of 2.x whose mount-s3 failed never ends well. Without a process nothing serves the source any more.
      return trouble?.kind === "crashing" ? "its container has ended and is not needed" : undefined;
    case "succeeded":
    case "failed":
      return "it has ended and is not needed";
    default:
      return phase satisfies never;
  }
}
