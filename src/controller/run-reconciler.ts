/** The Pod Reconciler: watches, workers and the sweep, from start to end. */
import type { MountpointPodConfig } from "../core/mountpoint-pod.ts";
import type { KubeClient } from "../kube/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { runController } from "../kube/run-controller.ts";
import { WorkQueue } from "../kube/work-queue.ts";
import type { Call } from "../runtime/call.ts";
import type { PlaceKey } from "./place.ts";
import { reconcile } from "./reconcile.ts";
import { sweep } from "./sweep.ts";
import { notePlaces } from "./triggers.ts";
import { emptyView, synced } from "./view.ts";
import { watchCluster } from "./watches.ts";

export interface ReconcilerOptions {
  readonly mountpointPods: MountpointPodConfig;
  readonly cleanupIntervalMs: number;
  readonly staleAfterMs: number;
  /** Called once the whole picture is there and work begins. */
  readonly onReady: () => void;
}

/** A place takes a few requests one after the other; other places need not wait for them. */
const workers = 16;

export async function runReconciler(call: Call, client: KubeClient, options: ReconcilerOptions): Promise<void> {
  const { mountpointPods, cleanupIntervalMs, staleAfterMs } = options;
  const view = emptyView();
  using queue = new WorkQueue<PlaceKey>();
  using _ = notePlaces(view, queue);
  const events = new EventRecorder(client, { component: "s3-pod-reconciler" });
  const context = { client, events, view, mountpointPods, staleAfterMs };

  const work = async (until: Call) => {
    await synced(until, view);
    call.log.info("the picture of the cluster is complete");
    options.onReady();
    await Promise.all([
      runController(until, { queue, workers, reconcile: (each, key) => reconcile(each, context, key) }),
      sweep(until, view, queue, cleanupIntervalMs),
    ]);
  };
  await untilFirstEnds(call, [(until) => watchCluster(until, client, view, mountpointPods.namespace), work]);
}

/** None of them is of use without the others: when one ends, for whatever reason, all do. */
async function untilFirstEnds(call: Call, tasks: readonly ((call: Call) => Promise<void>)[]): Promise<void> {
  const end = new AbortController();
  const until = { log: call.log, signal: AbortSignal.any([call.signal, end.signal]) };
  const running = tasks.map((task) => task(until));
  try {
    await Promise.race(running);
  } finally {
    end.abort();
    await Promise.allSettled(running);
  }
}
