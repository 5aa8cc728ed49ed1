/** Workers that reserve room for workloads that ask for it, and give it back. */
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

/** Ends when the call does. Also where headroom is turned off: what an earlier configuration left is removed. */
export async function reserveHeadroom(call: Call, context: ReserveContext): Promise<void> {
  const { view, progress } = context;
  using queue = new WorkQueue<PodUid>();
  using _noting = enqueueWorkloads(view, queue);
  using _progress = progress.follow("headroom", () => queue.stalledMs);
  for (const workload of everyWorkload(view)) queue.add(workload);
  await runController(call, { queue, workers, reconcile: (each, workload) => reserve(each, context, workload) });
}

async function reserve(call: Call, context: ReserveContext, workload: PodUid): Promise<Outcome> {
  const { steps, again } = decide(observe(context.view, workload, context.headroom.enabled, new Date()));
  await act(call, steps, context);
  return again === undefined ? { kind: "done" } : { kind: "again", ...again };
}
