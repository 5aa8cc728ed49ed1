/** The fields of a workload Pod that the reconciler keeps; a large cluster has many Pods. */
import type { NodeName, PodUid } from "../../core/names.ts";

export interface Workload {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Name of its service account. */
  readonly account: string;
  /** undefined: not scheduled yet. */
  readonly node: NodeName | undefined;
  /** Decimal, or empty where the Pod sets none. */
  readonly fsGroup: string;
  /** Names of the claims of the Pod, in its own namespace, each once. */
  readonly claims: readonly string[];
  readonly phase: WorkloadPhase;
  readonly terminating: boolean;
  /** RFC 3339: when its volumes had been mounted, or, on older kubelets, a little earlier. */
  readonly startedAt: string | undefined;
}

/**
 * From kubelet's report. pending: no container has started. running: at least one container has started, init containers included,
 * so the volumes are mounted; this differs from the phase of the API, which stays Pending during initialisation. finished: every
 * container has stopped for good.
 */
export type WorkloadPhase = "pending" | "running" | "finished";

/** The fields of a Pod object that `workloadFrom` looks at. */
export interface WorkloadPod {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly namespace?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly securityContext?: { readonly fsGroup?: number };
    readonly volumes?: readonly PodVolume[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: object;
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

interface ContainerStatus {
  readonly state?: { readonly running?: object; readonly terminated?: object };
  readonly lastState?: { readonly terminated?: object };
}

export function workloadFrom(pod: WorkloadPod): Workload {
  const { metadata, spec } = pod;
  return {
    uid: metadata.uid as PodUid,
    name: metadata.name,
    namespace: metadata.namespace ?? "", // the API server always sets it on a Pod
    account: spec.serviceAccountName || "default", // the API server always sets it
    node: spec.nodeName ? (spec.nodeName as NodeName) : undefined,
    fsGroup: fsGroupOf(spec),
    claims: claimsOf(metadata.name, spec.volumes ?? []),
    phase: phaseOf(pod.status ?? {}),
    terminating: metadata.deletionTimestamp !== undefined,
    startedAt: startOf(pod.status ?? {}),
  };
}

function fsGroupOf({ securityContext }: WorkloadPod["spec"]): string {
  return securityContext?.fsGroup?.toString() ?? "";
}

/**
 * DS-8: a terminating workload keeps its volumes while its containers may still write. DS-14: a scheduled Pod is "pending" until kubelet
 * reports a container; a container may have started just before the deletion, and may then run for its whole grace period. kubelet
 * reports a final phase or removes the object, and the Pod garbage collector removes the Pods of a Node that is gone, so the end of a
 * workload is always observed.
 */
export function needsVolumes(workload: Pick<Workload, "phase" | "terminating" | "node">): boolean {
  switch (workload.phase) {
    case "pending":
      return !workload.terminating || workload.node !== undefined;
    case "running":
      return true;
    case "finished":
      return false;
    default:
      return workload.phase satisfies never;
  }
}

/** It is being deleted, and kubelet has not reported whether a container had started before. kubelet starts no further container. */
export function isUnreported({ phase, terminating }: Pick<Workload, "phase" | "terminating">): boolean {
  return phase === "pending" && terminating;
}

/** Whether its volumes may be mounted. */
export function mayHaveStarted(workload: Pick<Workload, "phase" | "terminating">): boolean {
  return workload.phase === "running" || isUnreported(workload);
}

function claimsOf(workload: string, volumes: readonly PodVolume[]): readonly string[] {
  const claims = volumes.flatMap((volume) => {
    if (volume.persistentVolumeClaim) return [volume.persistentVolumeClaim.claimName];
    // Kubernetes gives the claim of a generic ephemeral volume this name.
    return volume.ephemeral ? [`${workload}-${volume.name}`] : [];
  });
  return [...new Set(claims)];
}

function phaseOf(status: NonNullable<WorkloadPod["status"]>): WorkloadPhase {
  if (status.phase === "Succeeded" || status.phase === "Failed") return "finished";
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  // A lost node leaves the phase Unknown: the containers may still be writing.
  const started = status.phase === "Running" || status.phase === "Unknown" || containers.some(hasStarted);
  return started ? "running" : "pending";
}

/** A container status covers only the last two runs. The sandbox is created after the volumes are mounted, and stays. */
function startOf({ conditions = [], startTime }: NonNullable<WorkloadPod["status"]>): string | undefined {
  const sandbox = conditions.find(({ type, status }) => type === "PodReadyToStartContainers" && status === "True");
  return sandbox?.lastTransitionTime ?? startTime;
}

function hasStarted({ state, lastState }: ContainerStatus): boolean {
  return (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined;
}
