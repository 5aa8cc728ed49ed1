/** The next step for a Mountpoint Pod that serves no workload. */
import type { ReportedSource } from "../../../core/attachment-status.ts";
import type { ReportedMountpointPod } from "../controller-status.ts";
import { isMounted } from "../reported-source.ts";

export interface OrphanedPodStep {
  readonly do: "annotateForUnmount" | "deleteMountpointPod";
  readonly because: string;
  /** Delete only if the API server has no Node object: no node plugin reports whether the bind mounts are in use (DS-14). */
  readonly ifNodeIsGone?: true;
}

export interface OrphanedPodFacts {
  readonly now: Date;
  readonly staleAfterMs: number;
  /** What the node plugin reports of the source of the Pod; undefined: nothing. */
  readonly source: ReportedSource | undefined;
}

/** undefined: no step now. The attachment of a young Pod may be about to be written. */
export function orphanedPodStep(pod: ReportedMountpointPod, facts: OrphanedPodFacts): OrphanedPodStep | undefined {
  if (!pod.needsUnmount) {
    // The API server's clock made the one time, and the clock of this replica, which may be wrong, the other. A Pod of the far future is no
    // young Pod, and would otherwise stay until the clock of this replica has passed that time.
    const stale = Math.abs(facts.now.getTime() - pod.createdAt.getTime()) >= facts.staleAfterMs;
    return stale ? { do: "annotateForUnmount", because: "cleanup: no attachment lists it" } : undefined;
  }
  if (pod.terminating) return undefined;
  const end = endOf(pod, facts);
  if (end !== undefined) return { do: "deleteMountpointPod", ...end };
  // 2.x and operators set the annotation without its time. Without the time there would be no limit.
  if (pod.needsUnmountSince === undefined)
    return { do: "annotateForUnmount", because: "its needs-unmount annotation has no time" };
  return undefined;
}

/**
 * Whether the node plugin has to unmount the source; mount-s3 and then the Pod end after that. Only a node plugin that reports on the
 * source can say when it has.
 */
export function endsByUnmount(pod: ReportedMountpointPod, source: ReportedSource | undefined): boolean {
  if (source === undefined || pod.terminating) return false;
  const isUp = pod.phase === "running" || (pod.phase === "pending" && isMounted(source));
  return isUp && (pod.problem === undefined || !containerEnds.has(pod.problem.kind));
}

const failures: ReadonlySet<string> = new Set(["crashing", "backingOff", "notRestarting"]);
const containerEnds: ReadonlySet<string> = new Set([...failures, "ended"]);

/** The node plugin unmounts within seconds, and mount-s3 then exits, unless it hangs. */
const unmountLimitMs = 600_000;
/** LC-21. Workloads that have moved away may have files open, or a working directory: mount-s3 exits when the last of them is closed. */
const openFilesLimitMs = 24 * 3_600_000;

type End = Omit<OrphanedPodStep, "do">;

/** undefined while the node plugin has to unmount; the Pod ends after that. */
function endOf(pod: ReportedMountpointPod, facts: OrphanedPodFacts): End | undefined {
  const { phase } = pod;
  switch (phase) {
    case "pending":
      return isMounted(facts.source) ? endOfRunning(pod, facts) : { because: "it never started and is not needed" };
    case "running":
      return endOfRunning(pod, facts);
    case "succeeded":
    case "failed":
      return { because: "it has ended and is not needed" };
    default:
      return phase satisfies never;
  }
}

function endOfRunning(pod: ReportedMountpointPod, facts: OrphanedPodFacts): End | undefined {
  const { problem, needsUnmountSince, move } = pod;
  const { now, staleAfterMs } = facts;
  const limitMs = move.to === undefined ? unmountLimitMs : openFilesLimitMs;
  const annotatedMs = now.getTime() - (needsUnmountSince ?? now).getTime();
  const kind = problem?.kind;
  // A mounter of 2.x whose mount-s3 failed never exits with code 0. Without a process nothing serves the source.
  if (kind !== undefined && failures.has(kind)) return { because: "its container has failed and is not needed" };
  // A Pod whose container exited with code 0 is about to be Succeeded, and a deletion then takes effect at once; an earlier deletion
  // would wait for kubelet. An injected sidecar may keep running, and the Pod is then never Succeeded.
  if (kind === "ended" && annotatedMs >= staleAfterMs) return { because: "its container has ended and is not needed" };
  return annotatedMs >= limitMs ? endOfHung(facts.source) : undefined;
}

/**
 * DS-14. Time alone proves nothing: a container may still write through a bind mount, although its Pod is gone from the API server or
 * was released by mistake. Where the node plugin has observed the annotation and no bind mount, no process can reach the files, and
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
