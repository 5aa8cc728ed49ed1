/** A workload that reserves headroom for its Mountpoint Pods before it is scheduled (LC-19). */
import { headroom, type PodUid } from "../../core/names.ts";
import type { Workload, WorkloadPod } from "./workload.ts";

export interface Reservation {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Names of the claims of the Pod, in its own namespace, each once. */
  readonly claims: readonly string[];
  readonly createdAt: Date;
  /** The Pod has the scheduling gate of this driver: the scheduler ignores it until the reconciler removes the gate. */
  readonly gated: boolean;
  /** Scheduling gates of others. */
  readonly otherGates: readonly string[];
  /** The Pod has the label by which its headroom Pods find its node. */
  readonly labelled: boolean;
}

/** The fields of a Pod object that `reservationFrom` looks at. */
export interface ReservingPod extends WorkloadPod {
  readonly metadata: WorkloadPod["metadata"] & { readonly creationTimestamp: string };
  readonly spec: WorkloadPod["spec"] & { readonly schedulingGates?: readonly { readonly name: string }[] };
}

/**
 * The reservation of a Pod that `workloadFrom` has parsed. undefined: the Pod reserves no headroom, or does not need it any more,
 * because it runs and has its mounts, or because it ends.
 */
export function reservationFrom(pod: ReservingPod, workload: Workload): Reservation | undefined {
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  const gated = gates.includes(headroom.gate);
  const { uid, name, namespace, claims, phase, terminating } = workload;
  const labelled = pod.metadata.labels?.[headroom.workloadLabel] === uid;
  if (!(gated || labelled) || phase !== "pending" || terminating) return undefined;
  const createdAt = new Date(pod.metadata.creationTimestamp);
  const otherGates = gates.filter((gate) => gate !== headroom.gate);
  return { uid, name, namespace, claims, createdAt, gated, otherGates, labelled };
}
