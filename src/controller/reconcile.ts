/** One place, brought from what it is to what it should be. */
import type { Outcome } from "../kube/work-queue.ts";
import type { Call } from "../runtime/call.ts";
import { act, type Cluster } from "./act.ts";
import { decide } from "./decide.ts";
import { observe } from "./observe.ts";
import { type PlaceKey, placeFrom } from "./place.ts";

export interface ReconcileContext extends Cluster {
  readonly staleAfterMs: number;
}

export async function reconcile(call: Call, context: ReconcileContext, key: PlaceKey): Promise<Outcome> {
  const { view, staleAfterMs, mountpointPods } = context;
  const policy = { staleAfterMs, driverVersion: mountpointPods.driverVersion };
  const { steps, again } = decide(observe(view, placeFrom(key), policy, new Date()));
  const outcome = await act(call, steps, context);
  return outcome.kind === "done" && again !== undefined ? { kind: "again", ...again } : outcome;
}
