/** What we read from a workload that asks for room for its Mountpoint Pods before it is scheduled (LC-19). */
import { headroom, type PodUid } from "../../core/names.ts";
import { type WorkloadPod, workloadFrom } from "./workload.ts";

export interface Reservation {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Names of the claims it uses, in its own namespace, each once. */
  readonly claims: readonly string[];
  readonly createdAt: Date;
  /** It is held back until we let it go. */
  readonly gated: boolean;
  /** By whom else it is held back. */
  readonly otherGates: readonly string[];
  /** It carries the label that headroom Pods look for. */
  readonly labelled: boolean;
}

/** The fields of a Pod object that `reservationFrom` looks at. */
export interface ReservingPod extends WorkloadPod {
  readonly metadata: WorkloadPod["metadata"] & { readonly creationTimestamp: string };
  readonly spec: WorkloadPod["spec"] & { readonly schedulingGates?: readonly { readonly name: string }[] };
}

/** undefined for a Pod that asks for nothing, or needs no room any more: it runs and has its mounts, or it ends. */
export function reservationFrom(pod: ReservingPod): Reservation | undefined {
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  const gated = gates.includes(headroom.gate);
  const { uid, name, namespace, claims, phase, terminating } = workloadFrom(pod);
  const labelled = pod.metadata.labels?.[headroom.workloadLabel] === uid;
  if (!(gated || labelled) || phase !== "pending" || terminating) return undefined;
  const createdAt = new Date(pod.metadata.creationTimestamp);
  const otherGates = gates.filter((gate) => gate !== headroom.gate);
  return { uid, name, namespace, claims, createdAt, gated, otherGates, labelled };
}
