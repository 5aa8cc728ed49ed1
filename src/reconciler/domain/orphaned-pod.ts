/** What is to become of a Mountpoint Pod that serves no workload. */
import type { ReportedSource } from "../../core/attachment-status.ts";
import type { ReportedMountpointPod } from "./controller-status.ts";

export interface OrphanedPodStep {
  readonly do: "annotateForUnmount" | "deleteMountpointPod";
  readonly because: string;
  /** Only if the API server has no object of its node: then nobody else tells whether its bind mounts are alive (DS-14). */
  readonly ifNodeIsGone?: true;
}

export interface OrphanedPodFacts {
  readonly now: Date;
  readonly staleAfterMs: number;
  /** What the node reports of its source; undefined: nothing. */
  readonly source: ReportedSource | undefined;
}

/** undefined: nothing now. One that is young may be waiting for its attachment to be written. */
export function orphanedPodStep(pod: ReportedMountpointPod, facts: OrphanedPodFacts): OrphanedPodStep | undefined {
  if (!pod.needsUnmount) {
    const stale = facts.now.getTime() - pod.createdAt.getTime() >= facts.staleAfterMs;
    return stale ? { do: "annotateForUnmount", because: "cleanup: no attachment lists it" } : undefined;
  }
  if (pod.terminating) return undefined;
  const end = endOf(pod, facts);
  if (end !== undefined) return { do: "deleteMountpointPod", ...end };
  // 2.x does not note the time, nor does somebody who annotates it by hand; without it there would be no limit.
  if (pod.needsUnmountSince === undefined)
    return { do: "annotateForUnmount", because: "its needs-unmount annotation has no time" };
  return undefined;
}

/** Whether the node is to unmount its source, after which mount-s3 and then the Pod end by themselves. */
export function endsByUnmount({ phase, terminating, problem }: ReportedMountpointPod): boolean {
  return phase === "running" && !terminating && (problem === undefined || !containerEnds.has(problem.kind));
}

const containerEnds: ReadonlySet<string> = new Set(["crashing", "backingOff", "ended"]);

/** A node unmounts in moments, and mount-s3 then ends, unless it hangs. */
const unmountLimitMs = 600_000;

type End = Omit<OrphanedPodStep, "do">;

/** undefined while it is the node's turn: it unmounts, and the Pod then ends by itself. */
function endOf(pod: ReportedMountpointPod, facts: OrphanedPodFacts): End | undefined {
  const { phase } = pod;
  switch (phase) {
    case "pending":
      return { because: "it never started and is not needed" };
    case "running":
      return endOfRunning(pod, facts);
    case "succeeded":
    case "failed":
      return { because: "it has ended and is not needed" };
    default:
      return phase satisfies never;
  }
}

function endOfRunning({ problem, needsUnmountSince }: ReportedMountpointPod, facts: OrphanedPodFacts): End | undefined {
  const { now, staleAfterMs } = facts;
  const markedMs = now.getTime() - (needsUnmountSince ?? now).getTime();
  const kind = problem?.kind;
  // A mounter of 2.x whose mount-s3 failed never ends well. Without a process nothing serves the source any more.
  if (kind === "crashing" || kind === "backingOff") return { because: "its container has failed and is not needed" };
  // One that has ended well is about to be Succeeded, and is then gone at once: deleted before, it would wait for kubelet. A
  // container that somebody else has put beside it may run on, and keep it from that.
  if (kind === "ended" && markedMs >= staleAfterMs) return { because: "its container has ended and is not needed" };
  return markedMs >= unmountLimitMs ? endOfHung(facts.source) : undefined;
}

/**
 * Time alone proves nothing: a container may still write through a bind mount, although its Pod is gone from the API server or
 * was released by mistake (DS-14). Where the node has seen the annotation and no bind mount, nobody can reach the files, and
 * kubelet may kill mount-s3 after one more grace period.
 */
function endOfHung(source: ReportedSource | undefined): End | undefined {
  if (source?.inUse === undefined)
    return {
      because: "it does not end, and its node plugin does not report on it: deleted only if its node is gone",
      ifNodeIsGone: true,
    };
  return source.inUse ? undefined : { because: "it does not end although its source is not in use" };
}
