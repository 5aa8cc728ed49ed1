import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WorkQueue } from "../kube/controller/work-queue.ts";
import { silentLogger } from "../runtime/log.ts";
import { LastingRefusals } from "./act/lasting-refusals.ts";
import { StatusDelay } from "./act/status-delay.ts";
import { UnconfirmedWrites } from "./act/unconfirmed-writes.ts";
import type { NewStatus } from "./decision/new-statuses.ts";
import { attachment, current, mp, now, pod, volume, w1, w2, workload } from "./decision/situation.fixture.ts";
import { installation } from "./domain/mountpoint-pod/installation.fixture.ts";
import type { VolumeOnNodeKey } from "./domain/volume-on-node.ts";
import { emptyView } from "./observe/view.ts";
import { type ReconcileContext, reconcile, writeStatuses } from "./reconcile.ts";

const key = "worker-1/data" as VolumeOnNodeKey;

let stop: AbortController;
let view: ReturnType<typeof emptyView>;
let statusQueue: WorkQueue<VolumeOnNodeKey>;
let written: (readonly NewStatus[])[];
let version: number;
let isBehind: boolean;
let statusDelay: StatusDelay;
beforeEach(() => {
  vi.useFakeTimers({ now });
  stop = new AbortController();
  view = emptyView();
  statusQueue = new WorkQueue();
  written = [];
  version = 0;
  isBehind = false;
  statusDelay = new StatusDelay(() => isBehind);
  view.claims.put("shop/data", "1", { namespace: "shop", name: "data", uid: "uid-of-claim", volume: volume.name });
  view.volumes.put(volume.name, "1", volume);
  view.workloads.put("shop/w1", "1", workload(w1, { phase: "running" }));
  view.attachments.put("s3pa", "1", attachment({ [mp(w1)]: [w1] }));
  view.podChanges.begin(1);
  view.podChanges.complete();
});
afterEach(() => {
  stop.abort();
  statusQueue[Symbol.dispose]();
  vi.useRealTimers();
});

const missing: string[] = [];
const call = () => ({ signal: stop.signal, log: silentLogger });

const refuse = () => Promise.reject(new Error("the server is away"));

function context(): ReconcileContext {
  const client = { create: refuse, patch: refuse, delete: refuse };
  const events = { record: () => undefined };
  return {
    client,
    reader: { get: refuse, find: refuse },
    events,
    refusals: new LastingRefusals(),
    unconfirmed: new UnconfirmedWrites(),
    view,
    mountpointPods: installation,
    current,
    rollout: { note: () => undefined },
    staleAfterMs: 120_000,
    statusQueue,
    statusDelay,
    missingPods: { add: (each) => void missing.push(each) },
    pool: { waitingFor: () => [], claim: () => undefined, claimedFor: () => undefined },
  };
}

function restarted(restarts: number): void {
  version += 1;
  const driverVersion = installation.driverVersion;
  view.mountpointPods.put("mount-s3/mp", String(version), pod(mp(w1), { restarts, driverVersion }));
}

/** Writes the statuses that are due within this time. */
async function writeDueStatuses(forMs: number): Promise<void> {
  const over = new AbortController();
  const loop = (async () => {
    for (;;) {
      const due = await statusQueue.take({ ...call(), signal: over.signal });
      const writer = { write: async (_: unknown, statuses: readonly NewStatus[]) => void written.push(statuses) };
      statusQueue.settle(due, await writeStatuses(call(), context(), writer, due));
    }
  })();
  await vi.advanceTimersByTimeAsync(forMs);
  over.abort(new Error("enough"));
  await expect(loop).rejects.toThrow("enough");
}

it("writes one status, the last, for three changes within a second", async () => {
  for (const restarts of [1, 2, 3]) {
    restarted(restarts);
    expect(await reconcile(call(), context(), key)).toEqual({ kind: "done", wrote: false });
    await writeDueStatuses(300);
  }
  expect(written).toEqual([]);
  await writeDueStatuses(60_000);
  expect(written.map(([one]) => one?.status.mountpointPods?.[mp(w1)]?.restarts)).toEqual([3]);
});

it("writes a status soon after no other volume on a node waits to be reconciled", async () => {
  isBehind = true;
  restarted(1);
  await reconcile(call(), context(), key);
  let writtenBefore = Number.NaN;
  setTimeout(() => {
    writtenBefore = written.length;
    isBehind = false;
  }, 4_000);
  await writeDueStatuses(4_500);
  expect([writtenBefore, written.length]).toEqual([0, 1]);
});

it("writes a status after a while, however long others wait", async () => {
  isBehind = true;
  restarted(1);
  await reconcile(call(), context(), key);
  await writeDueStatuses(7_000);
  expect(written).toHaveLength(1);
});

it("writes the status also after a step that failed", async () => {
  await expect(reconcile(call(), context(), key)).rejects.toThrow("the server is away");
  await writeDueStatuses(60_000);
  expect(written.map(([one]) => one?.status.mountpointPods?.[mp(w1)]?.phase)).toEqual(["Missing"]);
});

it("SC-7 asks for a list of Pods while an attachment names one that is not yet observed", async () => {
  missing.length = 0;
  restarted(0);
  await reconcile(call(), context(), key);
  expect(missing).toEqual([]);
  view.attachments.put("s3pa", "2", { ...attachment({ [mp(w1)]: [w1, w2] }), observedAtMs: 2 });
  await reconcile(call(), context(), key);
  expect(missing).toEqual([key]);
});
