/** The Pod Reconciler: watches, workers and the sweep, from start to end. */

import type { KubeClient } from "../kube/client/client.ts";
import { runController } from "../kube/controller/run-controller.ts";
import { WorkQueue } from "../kube/controller/work-queue.ts";
import { EventRecorder } from "../kube/events.ts";
import { type Candidate, lead } from "../kube/lease/lease.ts";
import { Term } from "../kube/lease/term.ts";
import { Freshness } from "../kube/watch/freshness.ts";
import type { WatchHealth } from "../kube/watch/watch-health.ts";
import { type Call, deadline } from "../runtime/call.ts";
import type { Progress } from "../runtime/progress.ts";
import { StatusWriter } from "./act/status-writer.ts";
import type { HeadroomConfig } from "./domain/headroom-pod.ts";
import type { MountpointPodConfig } from "./domain/mountpoint-pod.ts";
import type { VolumeOnNodeKey } from "./domain/volume-on-node.ts";
import { reserveHeadroom } from "./headroom/reserve.ts";
import { refuseOtherNamespaces } from "./mountpoint-namespace.ts";
import { enqueueVolumesOnNodes } from "./observe/triggers.ts";
import { emptyView, sizesOf, synced, type View } from "./observe/view.ts";
import { watchCluster } from "./observe/watches.ts";
import { reconcile, writeStatuses } from "./reconcile.ts";
import { everyVolumeOnNode, sweep } from "./sweep.ts";

export interface ReconcilerOptions {
  readonly mountpointPods: MountpointPodConfig;
  readonly headroom: HeadroomConfig;
  readonly cleanupIntervalMs: number;
  readonly staleAfterMs: number;
  /** For how long the workers may stand still before the program calls itself dead. */
  readonly stallLimitMs: number;
  /** In which election; undefined: there is none, and nobody else works. */
  readonly candidate: Candidate | undefined;
  readonly progress: Progress;
  readonly watchHealth: WatchHealth;
  /** Called once the whole picture is there: from now on it works, or is ready to take over. */
  readonly onReady: () => void;
}

/** A place takes a few requests one after the other; other places need not wait for them. */
const workers = 16;
/** Nobody waits for a status: in a rush of workloads it must not take the requests that attach them. */
const statusWorkers = 4;

/** Those that do not lead follow the cluster all the same: a take-over needs no first picture. */
export async function runReconciler(call: Call, client: KubeClient, options: ReconcilerOptions): Promise<void> {
  const { mountpointPods, candidate, progress, watchHealth: health } = options;
  const freshness = new Freshness();
  const watching = { mountpointNamespace: mountpointPods.namespace, progress, health, freshness };
  const view = emptyView();
  const work = async (until: Call) => {
    await synced(until, view);
    await refuseOtherNamespaces(until, client, mountpointPods.namespace);
    call.log.info("caches synced", sizesOf(view));
    options.onReady();
    if (candidate === undefined) await reconcileAll(new Term(until, Infinity), client, view, options);
    else {
      await lead(until, client, candidate, async (term) => {
        await renewCaches(term, freshness);
        await reconcileAll(term, client, view, options);
      });
    }
  };
  await untilFirstEnds(call, [(until) => watchCluster(until, client, view, watching), work]);
}

/**
 * SC-7. Attachments that the former leader wrote name Pods that a store of ours may not have yet, or name Mountpoint Pods while
 * the store of attachments does not: both would be taken for gone or unneeded.
 */
async function renewCaches(term: Term, freshness: Freshness): Promise<void> {
  // Longer than a list of a hundred thousand Pods takes. A leader that cannot see the cluster ends, so that another may lead.
  using limited = deadline(term, 300_000, "the API server to list everything at the beginning of the term");
  await freshness.renew(limited);
  term.log.info("the caches are not older than this term");
}

/** From the picture as it is now: what others did before this term is in it, or will be. */
async function reconcileAll(term: Term, client: KubeClient, view: View, options: ReconcilerOptions): Promise<void> {
  const { mountpointPods, cleanupIntervalMs, staleAfterMs, stallLimitMs, headroom, progress } = options;
  using queue = new WorkQueue<VolumeOnNodeKey>();
  using statusQueue = new WorkQueue<VolumeOnNodeKey>();
  using _noting = enqueueVolumesOnNodes(view, queue);
  using _reconciling = progress.follow("reconciling", () => queue.stalledMs, stallLimitMs);
  using _writing = progress.follow("writing the status of attachments", () => statusQueue.stalledMs, stallLimitMs);
  for (const place of everyVolumeOnNode(view)) queue.add(place);
  const events = new EventRecorder(client, { component: "s3-pod-reconciler" });
  const writer = term.writer(client);
  const statuses = new StatusWriter(writer, view);
  const context = { client: writer, reader: client, events, view, mountpointPods, staleAfterMs, statusQueue };
  await Promise.all([
    runController(term, { queue, workers, reconcile: (each, key) => reconcile(each, context, key) }),
    runController(term, {
      queue: statusQueue,
      workers: statusWorkers,
      reconcile: (each, key) => writeStatuses(each, context, statuses, key),
    }),
    sweep(term, view, queue, cleanupIntervalMs),
    reserveHeadroom(term, { ...context, headroom, progress }),
  ]);
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
