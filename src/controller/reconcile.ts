/** One place, brought from what it is to what it should be. */
import type { Outcome } from "../kube/work-queue.ts";
import type { Call } from "../runtime/call.ts";
import { act, type Cluster } from "./act.ts";
import { decide } from "./decide.ts";
import { observe } from "./observe.ts";
import { type PlaceKey, placeFrom } from "./place.ts";
import type { StatusWriter } from "./status-writer.ts";

export interface ReconcileContext extends Cluster {
  readonly staleAfterMs: number;
  readonly statuses: Pick<StatusWriter, "write">;
}

export async function reconcile(call: Call, context: ReconcileContext, key: PlaceKey): Promise<Outcome> {
  const { view, staleAfterMs, mountpointPods } = context;
  const policy = { staleAfterMs, driverVersion: mountpointPods.driverVersion };
  const { steps, statuses, again } = decide(observe(view, placeFrom(key), policy, new Date()));
  let outcome: Outcome;
  try {
    outcome = await act(call, steps, context);
  } finally {
    // Also after a failure: then, above all, somebody will look.
    await context.statuses.write(call, statuses);
  }
  return outcome.kind === "done" && again !== undefined ? { kind: "again", ...again } : outcome;
}
