import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { noMove, waitingPodFrom } from "../../core/mountpoint-pod-state.ts";
import { type NodeName, type PodUid, warmPodName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { kinds } from "../../kube/kinds.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { volume } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { type ReportedWaitingPod, warmSettings } from "../domain/mountpoint-pod/warm-pod.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { emptyView } from "../observe/view.ts";
import { keepWarm, type WarmContext } from "./keep-warm.ts";
import { WarmPool } from "./pool.ts";

const node = "worker-1" as NodeName;
const owner = "warm-owner";
const keyOfPod = (name: string) => `mount-s3/${name}`;
const metadata = (name: string) => ({ name, uid: `uid of ${name}`, resourceVersion: "1" });

function waiting(number: number, but: Partial<ReportedWaitingPod> = {}): ReportedWaitingPod {
  const name = warmPodName("former", but.node ?? node, number);
  return {
    ...{ name, uid: `uid of ${name}` as PodUid, resourceVersion: "1", node, createdAt: new Date() },
    ...{ driverVersion: "3.0.0", phase: "running", terminating: false, needsUnmount: false, noNewWorkload: false },
    ...{ needsUnmountSince: undefined, readOnly: false, move: noMove, settings: undefined },
    ...{ warmSettings: warmSettings(installation), scheduled: true, restarts: 0, deletionAskedAt: undefined },
    ...{ problem: undefined },
    ...but,
  };
}

const others = Array.from({ length: 40 }, (_, at) => `other-${at}` as NodeName);

/** One node with these conditions and a node plugin, and others that are not ready. Nothing about them changes. */
function watcherOf(): WarmContext["watcher"] {
  const here = { metadata: metadata(node), spec: {}, status: { conditions } };
  const notReady = others.map((name) => ({ metadata: metadata(name), spec: {} }));
  const plugin = { metadata: metadata("plugin"), spec: { nodeName: node } };
  const listed = { annotations: { "k8s.io/initial-events-end": "true" } };
  const watch = async ({ signal }: { signal: AbortSignal }, kind: unknown) => {
    const { promise, reject } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => reject(signal.reason));
    return (async function* events() {
      for (const object of kind === kinds.nodes ? [here, ...notReady] : [plugin]) yield { type: "ADDED", object };
      yield { type: "BOOKMARK", object: { metadata: { ...metadata(""), ...listed }, spec: {} } };
      await promise;
    })();
  };
  return { watch, pages: () => Promise.reject(new Error("not asked for")) } as unknown as WarmContext["watcher"];
}

let view: ReturnType<typeof emptyView>;
let conditions: readonly object[];
let requests: string[];
let lines: string[];
let refuseDeletion: (() => void) | undefined;

beforeEach(() => {
  view = emptyView();
  for (const store of Object.values(view)) if ("complete" in store) store.complete();
  view.volumes.put(volume.name, "1", volume);
  conditions = [{ type: "Ready", status: "True" }];
  requests = [];
  lines = [];
  refuseDeletion = undefined;
});

afterEach(() => vi.useRealTimers());

function put(pod: ReportedWaitingPod): void {
  view.waitingPods.put(keyOfPod(pod.name), pod.resourceVersion, pod);
}

const client = {
  create: async (_: unknown, __: unknown, pod: { metadata: { name: string } }) => {
    requests.push("create");
    const born = { ...pod.metadata, ...metadata(pod.metadata.name), creationTimestamp: new Date().toISOString() };
    const found = waitingPodFrom({ spec: {}, ...pod, metadata: born });
    if (found !== undefined)
      put({ ...found, scheduled: true, restarts: 0, deletionAskedAt: undefined, problem: undefined });
  },
  delete: async (_: unknown, __: unknown, { name }: { name: string }) => {
    requests.push("delete");
    if (refuseDeletion !== undefined) return refuseDeletion();
    view.waitingPods.remove(keyOfPod(name));
  },
};
const reader = { get: async () => ({ metadata: metadata(owner) }) };
const progress = {
  follow: () => ({ [Symbol.dispose]: () => undefined }),
  pulse: () => Object.assign(() => undefined, { [Symbol.dispose]: () => undefined }),
};

/** Runs until the block ends. */
function keeping(pool: WarmPool): AsyncDisposable {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: jsonLogger((line) => lines.push(line), 5) };
  const context = {
    ...{ client, reader, view, pool, progress, mountpointPods: installation, watcher: watcherOf() },
    warm: { perNode: 1, owner, releaseNamespace: "driver" },
  } as unknown as WarmContext;
  const ended = keepWarm(call, context);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

it("WM-1 replaces an outdated one at once: its deletion is no failure, which others would wait for", async () => {
  put(waiting(0, { warmSettings: "of yesterday" }));
  using pool = new WarmPool(view, installation);
  await using _ = keeping(pool);
  await expect.poll(() => requests).toEqual(["delete", "create"]);
  expect(lines.join()).not.toContain("earlier ones ended without a volume");
});

it("WM-1 starts one however many cannot start on other nodes, or do not on nodes that are not ready", async () => {
  const problem = { kind: "notStarting", cause: "", fix: "" } as const;
  const old = { createdAt: new Date(Date.now() - 60_000) };
  for (const [at, elsewhere] of others.entries()) {
    put(waiting(0, { node: elsewhere, phase: "pending", ...(at % 2 === 0 ? { problem } : old) }));
  }
  using pool = new WarmPool(view, installation);
  await using _ = keeping(pool);
  await expect.poll(() => requests).toEqual(["create"]);
});

it("WM-1 gives back one that it meant to delete, when the API server has refused that and it is wanted again", async () => {
  conditions = [...conditions, { type: "MemoryPressure", status: "True" }];
  const pod = waiting(0);
  put(pod);
  using pool = new WarmPool(view, installation);
  const here = { node, persistentVolume: volume.name };
  const refused = Promise.withResolvers<void>();
  refuseDeletion = () => {
    refused.resolve();
    throw new ApiError(409, "Conflict", "the object has been modified");
  };
  {
    await using _ = keeping(pool);
    await refused.promise;
    expect(pool.waitingFor(here)).toEqual([]);
  }
  put({ ...pod, resourceVersion: "2" });
  expect(pool.waitingFor(here)).toHaveLength(1);
});

it.for<[number, string]>([
  [590, "create"],
  [600, "delete"],
])(
  "WM-1 keeps one that a volume has claimed until every watch would show its attachment: after %d s: %s",
  async ([seconds, expected]) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const pod = waiting(0);
    put(pod);
    using pool = new WarmPool(view, installation);
    pool.claim(pod.name, "worker-1/data" as VolumeOnNodeKey, "s3pa-1");
    vi.advanceTimersByTime(seconds * 1000);
    await using _ = keeping(pool);
    await expect.poll(() => requests[0]).toBe(expected);
  },
);
