/** Which Mountpoint Pods wait for a volume on one node (WM-1). Pure. */
import type { NodeName, PodName } from "../../core/names.ts";
import type { PodProblem } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";

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
  /** Those whose deletion was requested and whose version is still the same: the API server may have accepted the request. */
  readonly deleting: ReadonlySet<PodName>;
  /** When the next claim of a volume reaches its limit of time; undefined: there is none. */
  readonly claimEndsMs: number | undefined;
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
  const present = observed.pods.filter(({ terminating }) => !terminating);
  const staying = present.filter(({ needsUnmount }) => !needsUnmount);
  const broken = removeBroken(observed, present);
  if (broken !== undefined) return broken;
  if (staying.length > wanted) return deletion(leastUseful(observed, staying), because, false);
  const next = grow(observed, wanted) ?? renew(observed, staying);
  return next?.step === undefined ? { step: undefined, again: nextLook(observed, present, next?.again) } : next;
}

/** Whatever is wanted, and without waiting for others that start: none of these will serve a volume. */
function removeBroken(observed: ObservedNode, present: readonly ReportedWaitingPod[]): WarmDecision | undefined {
  const begun = present.find(({ name }) => observed.deleting.has(name));
  if (begun !== undefined) return deletion(begun, "its deletion was requested and may have been accepted", false);
  const useless = present.find((pod) => isOutdated(observed, pod) && pod.phase === "pending");
  // Before failures, whose pauses are not for other settings: these may be those that mend what has failed.
  if (useless !== undefined) return deletion(useless, "its settings are outdated", false);
  const failed = present.find((pod) => failureOf(observed, pod) !== undefined);
  return failed && deletion(failed, failureOf(observed, failed) ?? "", true);
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

/** Problems that may go away by themselves for a while after the creation. */
const passing: Readonly<Partial<Record<PodProblem["kind"], Passing>>> = {
  // The scheduler usually finds room within a second, and preempts nothing for it.
  unschedulable: { limitMs: 30_000, failure: "its node has no room for it", hope: "the scheduler may find room" },
  // kubelet pulls an image again after at most five minutes.
  notStarting: { limitMs: 300_000, failure: "kubelet cannot start it", hope: "kubelet may start it" },
  notRestarting: { limitMs: 300_000, failure: "kubelet cannot start it again", hope: "kubelet may start it again" },
};

interface Passing {
  readonly limitMs: number;
  /** Why it is deleted then. */
  readonly failure: string;
  /** What it is given time for. */
  readonly hope: string;
}

/** Why the Pod will not serve a volume; undefined: it does, or will. */
function failureOf({ now, abandoned }: ObservedNode, pod: ReportedWaitingPod): string | undefined {
  // One that its node plugin ends is deleted only when it has ended: until then its mount may be in use. One whose container
  // does not run has none, and nobody ends it.
  if (pod.problem?.kind === "ended") return "it has ended without a volume";
  if (pod.needsUnmount && !isDown(pod)) return undefined;
  // The API server may have accepted the write: no other volume may get it.
  if (abandoned.has(pod.name)) return "a volume was to get it and has not";
  const known = pod.problem && passing[pod.problem.kind];
  return known && ageMs(now, pod) >= known.limitMs ? known.failure : undefined;
}

function isDown({ phase, problem }: ReportedWaitingPod): boolean {
  return phase === "pending" || problem?.kind === "notRestarting";
}

function ageMs(now: Date, { createdAt }: ReportedWaitingPod): number {
  return now.getTime() - createdAt.getTime();
}

function isOutdated({ settings }: ObservedNode, { warmSettings }: ReportedWaitingPod): boolean {
  return warmSettings !== settings;
}

/** The container of a Mountpoint Pod starts within about a second. One whose kubelet reports nothing for longer is not waited for. */
const startLimitMs = 60_000;

/** Whether it is about to run, so that further ones wait for it. */
export function isStartingUp(now: Date, pod: ReportedWaitingPod): boolean {
  const mayStart = pod.phase === "pending" && pod.problem === undefined && !pod.terminating;
  return mayStart && ageMs(now, pod) < startLimitMs;
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
  const outdated = pods.find((pod) => isOutdated(observed, pod));
  if (outdated === undefined) return undefined;
  const starting = pods.some((pod) => pod.phase === "pending" && !isOutdated(observed, pod));
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
function nextLook(
  { now, withoutPluginMs, claimEndsMs }: ObservedNode,
  pods: readonly ReportedWaitingPod[],
  again: WarmDecision["again"],
): WarmDecision["again"] {
  const plugin = withoutPluginMs > 0 && pods.length > 0 ? soon("the node plugin may come back") : undefined;
  const limits = pods.flatMap((pod) => {
    const known = pod.problem && passing[pod.problem.kind];
    const afterMs = (known?.limitMs ?? 0) - ageMs(now, pod);
    return known === undefined || afterMs <= 0 ? [] : [{ afterMs, because: known.hope }];
  });
  const claim = claimEndsMs === undefined ? undefined : { afterMs: claimEndsMs, because: "a volume is to get one" };
  const all = [again, plugin, ...limits, claim].filter((each) => each !== undefined);
  return all.toSorted((a, b) => a.afterMs - b.afterMs)[0];
}

function deletion(pod: ReportedWaitingPod, because: string, isFailure: boolean): WarmDecision {
  return { step: { do: "delete", pod, because, isFailure }, again: undefined };
}
