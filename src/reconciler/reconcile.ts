/** One place, brought from what it is to what it should be, and what there is to say about it. */
import type { Outcome } from "../kube/controller/work-queue.ts";
import type { Call } from "../runtime/call.ts";
import { act, type Cluster } from "./act/act.ts";
import type { StatusWriter } from "./act/status-writer.ts";
import { decide } from "./decision/decide.ts";
import type { Decision } from "./decision/decision.ts";
import { type VolumeOnNodeKey, volumeOnNodeFrom } from "./domain/volume-on-node.ts";
import { observe } from "./observe/observe.ts";

export interface ReconcileContext extends Cluster {
  readonly staleAfterMs: number;
  /** Places about which there is something to say. */
  readonly statusQueue: { addLater(key: VolumeOnNodeKey, afterMs: number): void };
}

/** A Mountpoint Pod that is made, finds its place and runs within this time is one status instead of three. */
const statusDelayMs = 1000;

export async function reconcile(call: Call, context: ReconcileContext, key: VolumeOnNodeKey): Promise<Outcome> {
  const { steps, statuses, again } = decisionOn(context, key);
  let outcome: Outcome;
  try {
    outcome = await act(call, steps, context);
  } finally {
    // Also after a failure: then, above all, somebody will look.
    if (statuses.length > 0) context.statusQueue.addLater(key, statusDelayMs);
  }
  return outcome.kind === "done" && again !== undefined ? { kind: "again", ...again } : outcome;
}

/** From the picture as it is by now: what came and went meanwhile need not be told. */
export async function writeStatuses(
  call: Call,
  context: ReconcileContext,
  writer: Pick<StatusWriter, "write">,
  key: VolumeOnNodeKey,
): Promise<Outcome> {
  await writer.write(call, decisionOn(context, key).statuses);
  return { kind: "done" };
}

function decisionOn({ view, staleAfterMs, mountpointPods }: ReconcileContext, key: VolumeOnNodeKey): Decision {
  const policy = { staleAfterMs, driverVersion: mountpointPods.driverVersion };
  return decide(observe(view, volumeOnNodeFrom(key), policy, new Date()));
}
