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
  const because = endOf(pod, now, staleAfterMs);
  if (because !== undefined) return { do: "deleteMountpointPod", because };
  // 2.x does not note the time, nor does somebody who marks it by hand; without it there would be no limit.
  if (pod.needsUnmountSince === undefined)
    return { do: "markForUnmount", because: "nobody knows since when it is marked" };
  return undefined;
}

/**
 * A node unmounts in moments, and mount-s3 then ends, unless it hangs. Nobody needs it and nobody can reach its files, so
 * kubelet may kill it, after one more grace period.
 */
const unmountLimitMs = 600_000;

/** undefined while it is the node's turn: it unmounts, and the Pod then ends by itself. */
function endOf(pod: ReportedMountpointPod, now: Date, staleAfterMs: number): string | undefined {
  const { phase, needsUnmountSince } = pod;
  switch (phase) {
    case "pending":
      return "it never started and is not needed";
    case "running":
      return endOfRunning(pod, now.getTime() - (needsUnmountSince ?? now).getTime(), staleAfterMs);
    case "succeeded":
    case "failed":
      return "it has ended and is not needed";
    default:
      return phase satisfies never;
  }
}

function endOfRunning({ trouble }: ReportedMountpointPod, markedMs: number, staleAfterMs: number): string | undefined {
  const kind = trouble?.kind;
  // A mounter of 2.x whose mount-s3 failed never ends well. Without a process nothing serves the source any more.
  if (kind === "crashing" || kind === "backingOff") return "its container has failed and is not needed";
  // One that has ended well is about to be Succeeded, and is then gone at once: deleted before, it would wait for kubelet. A
  // container that somebody else has put beside it may run on, and keep it from that.
  if (kind === "ended" && markedMs >= staleAfterMs) return "its container has ended and is not needed";
  return markedMs >= unmountLimitMs ? "it does not end although it is not needed" : undefined;
}
