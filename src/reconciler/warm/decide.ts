/** Which Mountpoint Pods wait for a volume on one node (WM-1). Pure. */
import type { NodeName, PodName } from "../../core/names.ts";
import type { ReportedWaitingPod } from "../domain/warm-pod.ts";

export interface ObservedNode {
  readonly now: Date;
  readonly node: NodeName;
  /** How many are wanted. */
  readonly perNode: number;
  /** undefined: there is no such Node. */
  readonly state: NodeState | undefined;
  /** For how long the node has had no node plugin; 0: it has one. */
  readonly withoutPluginMs: number;
  /** Those that no attachment lists and no volume is about to get. */
  readonly pods: readonly ReportedWaitingPod[];
  /** Those of them that a volume was to get, and has not got within the limit of time. */
  readonly abandoned: ReadonlySet<PodName>;
  /** The settings of Mountpoint Pods that are created now. */
  readonly settings: string;
  /** A workload with a volume of this driver is starting on the node: its start goes before. */
  readonly isStarting: boolean;
  /** How long to wait after Pods that ended without having served, or could not be created. */
  readonly backOffMs: number;
  /** How many more may start at the same time in the cluster. */
  readonly startable: number;
}

export interface NodeState {
  /** `kubectl cordon`: no new workloads come. */
  readonly cordoned: boolean;
  /** Of memory, disk or process ids. */
  readonly pressure: boolean;
  readonly ready: boolean;
}

export type WarmStep = { readonly because: string } & (
  | { readonly do: "create"; readonly node: NodeName }
  | { readonly do: "delete"; readonly pod: ReportedWaitingPod; readonly isFailure: boolean }
);

export interface WarmDecision {
  readonly step: WarmStep | undefined;
  /** When to decide again although nothing else changes; undefined: never. */
  readonly again: { readonly afterMs: number; readonly because: string } | undefined;
}

/** One step at a time: the change that it makes leads to the next decision. */
export function decide(observed: ObservedNode): WarmDecision {
  const { wanted, because } = demand(observed);
  // One that is being deleted, or that its node plugin ends, still has its room.
  const staying = observed.pods.filter(({ terminating, needsUnmount }) => !terminating && !needsUnmount);
  const failed = staying.find((pod) => failureOf(observed, pod) !== undefined);
  if (failed !== undefined) return deletion(failed, failureOf(observed, failed) ?? "", true);
  if (staying.length > wanted) return deletion(leastUseful(observed, staying), because, false);
  return grow(observed, wanted) ?? renew(observed, staying) ?? { step: undefined, again: nextLook(observed, staying) };
}

/** A node that is drained or updated may have no node plugin for a while. */
const withoutPluginLimitMs = 120_000;

function demand({ perNode, state, withoutPluginMs }: ObservedNode): {
  readonly wanted: number;
  readonly because: string;
} {
  if (perNode === 0) return none("no Mountpoint Pods are to wait for volumes");
  if (state === undefined) return none("its node is gone");
  if (state.pressure) return none("its node is under pressure");
  if (state.cordoned) return none("its node is cordoned");
  if (withoutPluginMs >= withoutPluginLimitMs) return none("no node plugin runs on its node");
  return { wanted: perNode, because: "more wait on the node than are to" };
}

function none(because: string): { readonly wanted: number; readonly because: string } {
  return { wanted: 0, because };
}

/** The scheduler usually finds room within a second, and preempts nothing for it. */
const schedulingLimitMs = 30_000;

/** Why the Pod will not serve a volume; undefined: it does, or will. */
function failureOf({ now, abandoned }: ObservedNode, pod: ReportedWaitingPod): string | undefined {
  const { problem, createdAt } = pod;
  // The API server may have accepted the write: no other volume may get it.
  if (abandoned.has(pod.name)) return "a volume was to get it and has not";
  if (problem?.kind === "ended") return "it has ended without a volume";
  const ageMs = now.getTime() - createdAt.getTime();
  return problem?.kind === "unschedulable" && ageMs >= schedulingLimitMs ? "its node has no room for it" : undefined;
}

function leastUseful({ settings }: ObservedNode, pods: readonly ReportedWaitingPod[]): ReportedWaitingPod {
  const use = (pod: ReportedWaitingPod) => (pod.warmSettings === settings ? 2 : 0) + (pod.phase === "running" ? 1 : 0);
  return pods.toSorted(
    (a, b) => use(a) - use(b) || b.createdAt.getTime() - a.createdAt.getTime(),
  )[0] as ReportedWaitingPod;
}

/** undefined: nothing is missing. */
function grow(observed: ObservedNode, wanted: number): WarmDecision | undefined {
  if (observed.pods.length >= wanted) return undefined;
  const wait = waitBeforeStart(observed);
  if (wait !== undefined) return { step: undefined, again: wait };
  return { step: { do: "create", node: observed.node, because: "a node lacks one that waits" }, again: undefined };
}

/** Mountpoint Pods of other settings, such as another image, are replaced one after the other, and on a few nodes at a time. */
function renew(observed: ObservedNode, pods: readonly ReportedWaitingPod[]): WarmDecision | undefined {
  const outdated = pods.find(({ warmSettings }) => warmSettings !== observed.settings);
  if (outdated === undefined) return undefined;
  const starting = pods.some(({ phase, warmSettings }) => phase === "pending" && warmSettings === observed.settings);
  const wait = waitBeforeStart(observed) ?? (starting ? soon("a successor starts") : undefined);
  return wait === undefined ? deletion(outdated, "its settings are outdated", false) : { step: undefined, again: wait };
}

const lookAgainMs = 5000;

function waitBeforeStart({
  state,
  withoutPluginMs,
  isStarting,
  backOffMs,
  startable,
}: ObservedNode): WarmDecision["again"] {
  if (state?.ready !== true || withoutPluginMs > 0) return soon("the node is not ready");
  if (backOffMs > 0) return { afterMs: backOffMs, because: "earlier ones ended without a volume" };
  if (isStarting) return soon("a workload is starting on the node");
  return startable <= 0 ? soon("enough are starting in the cluster") : undefined;
}

function soon(because: string): WarmDecision["again"] {
  return { afterMs: lookAgainMs, because };
}

/** No event tells that a limit of time is over. */
function nextLook({ withoutPluginMs }: ObservedNode, pods: readonly ReportedWaitingPod[]): WarmDecision["again"] {
  const isUnschedulable = pods.some(({ problem }) => problem?.kind === "unschedulable");
  if (withoutPluginMs > 0 && pods.length > 0) return soon("the node plugin may come back");
  return isUnschedulable ? soon("the scheduler may find room") : undefined;
}

function deletion(pod: ReportedWaitingPod, because: string, isFailure: boolean): WarmDecision {
  return { step: { do: "delete", pod, because, isFailure }, again: undefined };
}
