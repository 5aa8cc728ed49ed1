/** Workers that create headroom Pods for workloads with the scheduling gate, and delete them afterwards (LC-19). */
import type { PodUid } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import type { Call } from "../../runtime/call.ts";
import type { Progress } from "../../runtime/progress.ts";
import type { View } from "../observe/view.ts";
import { act, type Cluster } from "./act.ts";
import { decide } from "./decide.ts";
import { enqueueWorkloads, everyWorkload, observe } from "./observe.ts";

export interface ReserveContext extends Cluster {
  readonly view: View;
  readonly progress: Pick<Progress, "follow">;
}

const workers = 4;

/** Ends when the call does. Runs also where headroom is turned off, and then deletes headroom Pods of an earlier configuration. */
export async function reserveHeadroom(call: Call, context: ReserveContext): Promise<void> {
  const { view, progress } = context;
  using queue = new WorkQueue<PodUid>();
  using _enqueueing = enqueueWorkloads(view, queue);
  using _progress = progress.follow("headroom", () => queue.stalledMs);
  for (const workload of everyWorkload(view)) queue.add(workload);
  await runController(call, { queue, workers, reconcile: (each, workload) => reserve(each, context, workload) });
}

async function reserve(call: Call, context: ReserveContext, workload: PodUid): Promise<Outcome> {
  const { steps, again } = decide(observe(context.view, workload, context.headroom.enabled, new Date()));
  await act(call, steps, context);
  return again === undefined ? { kind: "done" } : { kind: "again", ...again };
}
