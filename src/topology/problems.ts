/** What is wrong with a volume or a Mountpoint Pod, with the fix where it is known. */
import type { MountpointPodStatus, SourceCondition } from "../core/attachment-status.ts";
import { DriverError } from "../core/errors.ts";
import { parseVolumeAttributes } from "../core/volume/volume-attributes.ts";
import type { ContainerStatus, PersistentVolume, Pod } from "./objects.ts";
import type { AttachmentView } from "./topology.ts";

/** Empty: no problem. `isNeeded`: workloads are listed on it. */
export function mountpointPodProblem(pod: Pod | undefined, reported: MountpointPodStatus, isNeeded: boolean): string {
  if (reported.reason !== undefined) return reported.reason;
  if (pod === undefined) return isNeeded ? "the Mountpoint Pod does not exist; the reconciler makes another one" : "";
  return (
    (reported.health && mountProblems[reported.health]) ??
    schedulingProblem(pod) ??
    containerProblem(pod) ??
    endedProblem(pod, isNeeded) ??
    ""
  );
}

/** What the node plugin reports of the mount; conditions that are missing here are none. */
const mountProblems: Readonly<Partial<Record<SourceCondition, string>>> = {
  dead: "mount-s3 has ended; file access fails until the volume is mounted again",
  hung: "mount-s3 does not answer; processes that use the volume wait. Look at the S3 endpoint and at its log",
  stuck: "mount-s3 has lost its mount and does not end; another Mountpoint Pod takes over",
};

function schedulingProblem({ status }: Pod): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False"
    ? `cannot be scheduled: ${scheduled.message ?? scheduled.reason ?? ""}`
    : undefined;
}

export function containerProblem({ status }: Pod): string | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.map(waitingProblem).find((each) => each !== undefined);
}

/** Reasons that pass by themselves are no problem. */
const passing: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

function waitingProblem({ name, state, restartCount, lastState }: ContainerStatus): string | undefined {
  const waiting = state?.waiting;
  if (waiting === undefined || passing.has(waiting.reason ?? "")) return undefined;
  const died = lastState?.terminated;
  const history =
    died === undefined ? "" : `, ${restartCount} restarts, last exit code ${died.exitCode} (${died.reason})`;
  return `container ${name} waits: ${waiting.reason ?? "unknown"}${history}: ${waiting.message ?? ""}`;
}

function endedProblem({ status }: Pod, isNeeded: boolean): string | undefined {
  const hasEnded = status?.phase === "Failed" || (status?.phase === "Succeeded" && isNeeded);
  return hasEnded
    ? `the Mountpoint Pod has ended (${status?.phase}${status?.reason ? `, ${status.reason}` : ""})`
    : undefined;
}

export function volumeProblems(volume: PersistentVolume, attachments: readonly AttachmentView[]): readonly string[] {
  const pods = attachments.flatMap(({ node, mountpointPods }) =>
    mountpointPods.flatMap(({ problem }) => (problem === "" ? [] : [`${node}: ${problem}`])),
  );
  const irreplaceable = attachments.flatMap(({ node, conditions }) =>
    conditions.flatMap(({ reason, message }) =>
      reason === "MountpointPodIrreplaceable" ? [`${node}: ${message}`] : [],
    ),
  );
  return [...refused(volume), ...failed(volume), ...irreplaceable, ...pods];
}

/** The driver refuses to mount it. */
function refused({ spec }: PersistentVolume): readonly string[] {
  try {
    parseVolumeAttributes(spec.csi?.volumeAttributes ?? {});
    return [];
  } catch (error) {
    if (error instanceof DriverError) return [error.message];
    throw error;
  }
}

function failed({ status }: PersistentVolume): readonly string[] {
  if (status?.phase !== "Failed") return [];
  return [`the PersistentVolume has failed: ${status.message ?? status.reason ?? "no reason was given"}`];
}
