/** The Pod Reconciler: leader election, watches, workers and the stale cleanup. */

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
import { LastingRefusals } from "./act/lasting-refusals.ts";
import { StatusDelay } from "./act/status-delay.ts";
import { StatusWriter } from "./act/status-writer.ts";
import { UnconfirmedWrites } from "./act/unconfirmed-writes.ts";
import type { HeadroomConfig } from "./domain/mountpoint-pod/headroom-pod.ts";
import type { MountpointPodConfig } from "./domain/mountpoint-pod/mountpoint-pod.ts";
import { settingsHash } from "./domain/mountpoint-pod/settings-hash.ts";
import type { Installation } from "./domain/persistent-volume.ts";
import { logFieldsOf, type VolumeOnNodeKey } from "./domain/volume-on-node.ts";
import { reserveHeadroom } from "./headroom/reserve.ts";
import type { ReconcilerMetrics } from "./metrics.ts";
import { isNamespaceInUse, refuseOtherNamespaces } from "./mountpoint-namespace.ts";
import { MissingPods } from "./observe/missing-pods.ts";
import { enqueueVolumesOnNodes } from "./observe/triggers.ts";
import { emptyView, sizesOf, synced, type View } from "./observe/view.ts";
import { watchCluster } from "./observe/watches.ts";
import { namesMissingPods, reconcile, writeStatuses } from "./reconcile.ts";
import type { OwnPod } from "./rollout/progress.ts";
import { Rollout } from "./rollout/roll-out.ts";
import type { RolloutConfig } from "./rollout/settings.ts";
import { sweep } from "./sweep.ts";
import { keepWarm } from "./warm/keep-warm.ts";
import { WarmPool } from "./warm/pool.ts";
import type { WarmConfig } from "./warm/settings.ts";

export interface ReconcilerOptions {
  readonly mountpointPods: MountpointPodConfig;
  readonly installation: Installation;
  readonly headroom: HeadroomConfig;
  readonly rollout: RolloutConfig;
  /** The Pod of this process; undefined: it is not known. */
  readonly pod: OwnPod | undefined;
  readonly warm: WarmConfig;
  readonly cleanupIntervalMs: number;
  readonly staleAfterMs: number;
  /** How long no worker may make progress before the liveness probe fails. */
  readonly stallLimitMs: number;
  /** undefined: no leader election, because there is one replica only. */
  readonly candidate: Candidate | undefined;
  readonly progress: Progress;
  readonly watchHealth: WatchHealth;
  readonly metrics: Pick<ReconcilerMetrics, "queues" | "leading" | "measure" | "rollout">;
  /** Called once the caches are synced: from now on this replica works, or is ready to take over. */
  readonly onReady: () => void;
  /** Called when the API server forbids, or no longer forbids, the use of a lease that the candidate requires. */
  readonly onLeaseForbidden: (isForbidden: boolean) => void;
}

/**
 * A reconcile makes a few requests one after the other, and waits for the watches to show each; reconciles of other keys need not wait
 * for that. In one run 64 attached a tenth more workloads in a second than 16 (bench/README.md).
 */
export const workers = 64;
/** Statuses are not urgent: when many workloads arrive, their attachments get the requests first. */
const statusWorkers = 4;

/** Ends when the call does. A replica that does not lead keeps its caches synced, too, so that it can take over at once. */
export async function runReconciler(call: Call, client: KubeClient, options: ReconcilerOptions): Promise<void> {
  const { mountpointPods, installation, candidate, progress, watchHealth: health } = options;
  const freshness = new Freshness();
  const watching = { mountpointNamespace: mountpointPods.namespace, installation, progress, health, freshness };
  const view = emptyView();
  options.metrics.measure(view);
  const work = async (until: Call) => {
    await synced(until, view);
    const { namespace } = mountpointPods;
    if (!isNamespaceInUse(view, namespace)) await refuseOtherNamespaces(until, client, namespace);
    call.log.info("caches synced", sizesOf(view));
    options.onReady();
    const inTerm = async (term: Term) => {
      using _leading = options.metrics.leading();
      // Without an election there is no other replica that could lead.
      if (candidate === undefined) await freshness.renew(term);
      else await renewCaches(term, freshness);
      await reconcileAll(term, client, { view, freshness }, options);
    };
    if (candidate === undefined) await inTerm(new Term(until, Infinity));
    else await lead(until, client, candidate, { work: inTerm, onForbidden: options.onLeaseForbidden });
  };
  await untilFirstEnds(call, [(until) => watchCluster(until, client, view, watching), work]);
}

/**
 * SC-7. An attachment that the former leader wrote may name Pods that the caches of this replica lack, and the cache of attachments may
 * lack an attachment of a Mountpoint Pod: this replica would take the Pods for gone, or the Mountpoint Pod for orphaned.
 */
async function renewCaches(term: Term, freshness: Freshness): Promise<void> {
  // Longer than a list of a hundred thousand Pods takes. A leader that cannot list exits, so that another replica can lead.
  using limited = deadline(term, 300_000, "the API server to list everything at the beginning of the term");
  await freshness.renew(limited);
  term.log.info("caches listed anew for this term");
}

/** Queues everything once, and then what changes. */
async function reconcileAll(
  term: Term,
  client: KubeClient,
  { view, freshness }: { readonly view: View; readonly freshness: Freshness },
  options: ReconcilerOptions,
): Promise<void> {
  const { mountpointPods, cleanupIntervalMs, staleAfterMs, stallLimitMs, headroom, warm, progress, metrics, pod } =
    options;
  const current = { hash: settingsHash(mountpointPods), retry: options.rollout.retry };
  using queue = new WorkQueue<VolumeOnNodeKey>();
  using statusQueue = new WorkQueue<VolumeOnNodeKey>();
  using rollout = new Rollout();
  using _enqueueing = enqueueVolumesOnNodes(view, queue);
  using _reconciling = progress.follow("reconciling", () => queue.stalledMs, stallLimitMs);
  using _writing = progress.follow("writing the status of attachments", () => statusQueue.stalledMs, stallLimitMs);
  using _queue = metrics.queues.follow("reconcile", queue);
  using _statusQueue = metrics.queues.follow("status", statusQueue);
  await using events = new EventRecorder(client, { component: "s3-pod-reconciler" });
  const writer = term.writer(client);
  const statuses = new StatusWriter(writer, view);
  const missingPods = new MissingPods();
  const isMissing = (key: VolumeOnNodeKey) => namesMissingPods(context, key);
  using pool = new WarmPool(view, mountpointPods);
  const shared = { client: writer, reader: client, events, view, mountpointPods, current, rollout, pool };
  const writes = { refusals: new LastingRefusals(), unconfirmed: new UnconfirmedWrites() };
  const statusDelay = new StatusDelay(() => queue.isBehind);
  const context = { ...shared, ...writes, staleAfterMs, statusQueue, statusDelay, missingPods };
  await Promise.all([
    runController(term, {
      queue,
      workers,
      reconcile: (each, key) => reconcile(each, context, key),
      fieldsOf: logFieldsOf,
      onAttempt: metrics.queues.attemptsOf("reconcile"),
    }),
    runController(term, {
      queue: statusQueue,
      workers: statusWorkers,
      reconcile: (each, key) => writeStatuses(each, context, statuses, key),
      fieldsOf: logFieldsOf,
      onAttempt: metrics.queues.attemptsOf("status"),
    }),
    sweep(term, view, queue, cleanupIntervalMs),
    missingPods.search(term, { freshness, isMissing, queue }),
    view.lateWatches.renew(term, freshness),
    reserveHeadroom(term, { ...context, headroom, progress }),
    rollout.run(term, { ...context, rollout: options.rollout, pod, progress, metrics }),
    keepWarm(term, { ...context, warm, watcher: client, progress }),
  ]);
}

/** Ends all tasks when one of them ends, for whatever reason: none works without the others. */
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
