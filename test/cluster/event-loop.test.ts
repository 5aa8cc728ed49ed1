/**
 * How the reconciler divides its work among the turns of its event loop, in this process, with the caches, watches and queue that it has
 * and a real API server. It counts what happens in a turn; how long a turn takes is measured by bench/controller.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeAll, expect, it, vi } from "vitest";
import { WatchHealth } from "../../src/kube/watch/watch-health.ts";
import { installation } from "../../src/reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { ReconcilerMetrics } from "../../src/reconciler/metrics.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import { runReconciler } from "../../src/reconciler/run-reconciler.ts";
import { type Logger, silentLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { openCluster } from "../support/cluster.ts";
import { plainStores } from "../support/fake-credentials.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const volumes = scaled("volumes, each on two nodes, in one sweep", 50, 500);
const places = 2 * volumes;
const cleanupIntervalMs = 2000;
/** A look at the clock takes a millisecond in this test, and a turn has 5 ms for each of the loops that share it. */
const mostInOneTurn = 20;

beforeAll(() => installAttachmentKind(cluster));

/** What happened between two sweeps. */
interface Interval {
  readonly passes: number;
  readonly busiestTurn: number;
}

it(`SC-5 a sweep over ${places} volumes on nodes decides once about each, a few in each turn of the event loop`, {
  timeout: 300_000 + volumes * 1000,
}, async () => {
  await using stage = await Stage.open(cluster);
  const claims = await Promise.all(Array.from({ length: volumes }, () => stage.volume()));
  await stage.workload("one", { claims });
  await stage.workload("other", { claims, node: stage.otherNode });
  await using reconciler = new CountingReconciler(stage);

  const served = async () => Object.keys(await stage.served()).length;
  await expect.poll(served, { ...long, timeout: 120_000 + volumes * 1000 }).toBe(places);
  // Until the last change of a Mountpoint Pod is dealt with, there are further passes.
  await expect.poll(() => reconciler.last?.passes, { ...long, timeout: 120_000 }).toBe(places);

  using _clock = stepping();
  reconciler.forget();
  await expect.poll(() => reconciler.last?.passes, { ...long, timeout: 120_000 }).toBe(places);
  expect(reconciler.last?.busiestTurn).toBeLessThanOrEqual(mostInOneTurn);
});

class CountingReconciler implements AsyncDisposable {
  /** The last whole interval between two sweeps. */
  last: Interval | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #counting: Promise<void>;
  #passes = 0;
  #inTurn = 0;
  #busiestTurn = 0;
  #isWhole = false;

  constructor(stage: Stage) {
    const { signal } = this.#stop;
    const log: Logger = {
      ...silentLogger,
      info: (message) => {
        if (message.startsWith("stale cleanup queued")) this.#endInterval();
      },
      // Every pass has a log of its own. The cluster may have volumes of other tests.
      with: ({ key }) => {
        if (String(key).includes(stage.name)) this.#pass();
        return log;
      },
    };
    this.#running = runReconciler({ signal, log }, stage.client, {
      installation: plainStores,
      mountpointPods: {
        ...{ ...installation, namespace: stage.mountpointNamespace, imagePullPolicy: "Never" },
        ...{ priorityClassName: "", preemptingPriorityClassName: "" },
      },
      headroom: { enabled: false, image: "", imagePullPolicy: "IfNotPresent", command: [], priorityClassName: "" },
      rollout: manualRollout,
      pod: undefined,
      warm: { perNode: 0, owner: "", releaseNamespace: "" },
      cleanupIntervalMs,
      staleAfterMs: 600_000,
      stallLimitMs: 600_000,
      candidate: undefined,
      progress: new Progress(),
      watchHealth: new WatchHealth(),
      metrics: new ReconcilerMetrics(),
      onReady: () => undefined,
      onLeaseForbidden: () => undefined,
    });
    this.#counting = this.#countTurns(signal);
  }

  /** The interval that is under way does not count. */
  forget(): void {
    this.last = undefined;
    this.#isWhole = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#running, this.#counting]);
  }

  #pass(): void {
    this.#passes += 1;
    this.#inTurn += 1;
    this.#busiestTurn = Math.max(this.#busiestTurn, this.#inTurn);
  }

  #endInterval(): void {
    if (this.#isWhole) this.last = { passes: this.#passes, busiestTurn: this.#busiestTurn };
    this.#isWhole = true;
    this.#passes = 0;
    this.#busiestTurn = 0;
  }

  async #countTurns(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await nextTurn();
      this.#inTurn = 0;
    }
  }
}

/** Every look at the clock takes a millisecond, so that what fits into a turn does not depend on how fast the machine is. */
function stepping(): Disposable {
  let at = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    at += 1;
    return at;
  });
  return { [Symbol.dispose]: () => clock.mockRestore() };
}
