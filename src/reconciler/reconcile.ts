/** One reconcile of one volume on one node: observe, decide, act; and the writes of the statuses of its attachments. */
import type { PodName } from "../core/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Outcome } from "../kube/controller/work-queue.ts";
import type { Call } from "../runtime/call.ts";
import { act, type Cluster } from "./act/act.ts";
import type { StatusDelay } from "./act/status-delay.ts";
import type { StatusWriter } from "./act/status-writer.ts";
import type { UnconfirmedWrites } from "./act/unconfirmed-writes.ts";
import { decide } from "./decision/decide.ts";
import type { Observed, Step } from "./decision/decision.ts";
import { newStatuses } from "./decision/new-statuses.ts";
import type { CurrentSettings } from "./domain/rollout.ts";
import { type VolumeOnNode, type VolumeOnNodeKey, volumeOnNodeFrom } from "./domain/volume-on-node.ts";
import { observe } from "./observe/observe.ts";
import { type Tracked, trackedIn } from "./rollout/tracker.ts";
import type { WarmPool } from "./warm/pool.ts";

export interface ReconcileContext extends Cluster {
  readonly staleAfterMs: number;
  readonly current: CurrentSettings;
  /** Learns what every reconcile observes (LC-21). */
  readonly rollout: { note(key: VolumeOnNodeKey, pods: readonly Tracked[]): void };
  /** Volumes on nodes with a status to write. */
  readonly statusQueue: { addLater(key: VolumeOnNodeKey, afterMs: number): void };
  readonly statusDelay: Pick<StatusDelay, "passed">;
  /** Volumes on nodes whose attachments name Pods that are not yet observed. */
  readonly missingPods: { add(key: VolumeOnNodeKey): void };
  readonly reader: Pick<KubeClient, "get" | "find">;
  readonly unconfirmed: Pick<UnconfirmedWrites, "add" | "confirm">;
  readonly pool: Pick<WarmPool, "waitingFor" | "claim" | "claimedFor">;
}

/** A Mountpoint Pod that is created, scheduled and started within this time causes one write of the status instead of three. */
const statusDelayMs = 1000;

export async function reconcile(call: Call, context: ReconcileContext, key: VolumeOnNodeKey): Promise<Outcome> {
  try {
    await context.unconfirmed.confirm(call, context, key);
  } catch (error) {
    queueStatuses(context, key, observedNow(context, key));
    throw error;
  }
  const observed = observedNow(context, key);
  context.rollout.note(key, trackedIn(observed));
  const { steps, again } = decide(observed);
  // In the same turn as the decision: no other volume may take these Mountpoint Pods any more.
  for (const { name, attachment } of takenIn(steps, observed.waiting)) context.pool.claim(name, key, attachment);
  if (observed.notYetObserved.size > 0) context.missingPods.add(key);
  let outcome: Outcome;
  try {
    outcome = await act(call, steps, context);
  } finally {
    // Also after a failed step: operators read the status above all when something fails.
    queueStatuses(context, key, observed);
  }
  const wrote = steps.some((step) => step.do !== "report" && step.do !== "reportVolume");
  return outcome.kind === "done" && again !== undefined ? { kind: "again", ...again, wrote } : { ...outcome, wrote };
}

function queueStatuses({ statusQueue }: ReconcileContext, key: VolumeOnNodeKey, observed: Observed): void {
  if (newStatuses(observed).length > 0) statusQueue.addLater(key, statusDelayMs);
}

/** Writes the statuses for what is observed by now; statuses that were only due in between are never written. */
export async function writeStatuses(
  call: Call,
  context: ReconcileContext,
  writer: Pick<StatusWriter, "write">,
  key: VolumeOnNodeKey,
): Promise<Outcome> {
  await context.statusDelay.passed(call);
  await writer.write(call, newStatuses(observedNow(context, key)));
  return { kind: "done" };
}

/** SC-7. */
export function namesMissingPods(context: ObserveContext, key: VolumeOnNodeKey): boolean {
  return observedNow(context, key).notYetObserved.size > 0;
}

type ObserveContext = Pick<ReconcileContext, "view" | "staleAfterMs" | "mountpointPods" | "current" | "pool">;

export function observedNow(
  { view, staleAfterMs, mountpointPods, current, pool }: ObserveContext,
  key: VolumeOnNodeKey,
): Observed {
  const waitingFor = (of: VolumeOnNode) => pool.waitingFor(of);
  const claimedFor = (name: PodName) => pool.claimedFor(name);
  const policy = { staleAfterMs, current, driverVersion: mountpointPods.driverVersion, waitingFor, claimedFor };
  return observe(view, volumeOnNodeFrom(key), policy, new Date());
}

interface Taken {
  readonly name: PodName;
  readonly attachment: string;
}

/** The waiting Mountpoint Pods that the steps list in an attachment. */
function takenIn(steps: readonly Step[], waiting: Observed["waiting"]): readonly Taken[] {
  if (waiting.length === 0) return [];
  return steps.flatMap((step) => {
    const spec = step.do === "createAttachment" ? step.attachment.spec : step.do === "rewriteAttachment" && step.spec;
    if (!spec || !("attachment" in step)) return [];
    const listed = waiting.filter(({ name }) => spec.mountpointS3PodAttachments[name] !== undefined);
    return listed.map(({ name }) => ({ name, attachment: step.attachment.metadata.name }));
  });
}
