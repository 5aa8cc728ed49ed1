import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { NodeName } from "../core/names.ts";
import { KubeClient } from "../kube/client/client.ts";
import { runController } from "../kube/controller/run-controller.ts";
import { WorkQueue } from "../kube/controller/work-queue.ts";
import { EventRecorder } from "../kube/events.ts";
import { silentLogger } from "../runtime/log.ts";
import { LastingRefusals } from "./act/lasting-refusals.ts";
import { UnconfirmedWrites } from "./act/unconfirmed-writes.ts";
import { current, volume, w1, workload } from "./decision/situation.fixture.ts";
import { installation } from "./domain/mountpoint-pod/installation.fixture.ts";
import type { VolumeOnNodeKey } from "./domain/volume-on-node.ts";
import { MissingPods } from "./observe/missing-pods.ts";
import { emptyView, volumesOnNodeOf } from "./observe/view.ts";
import { reconcile } from "./reconcile.ts";
import { workers } from "./run-reconciler.ts";
import { WarmPool } from "./warm/pool.ts";

let server: Server;
let asked: string[];
let answer: { readonly code: number; readonly headers: Readonly<Record<string, string>> };
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(answer.code, answer.headers).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // The clocks of HTTP stay real.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A workload with the same volume on every node, and no Mountpoint Pod yet. */
function crowdedView(volumesOnNodes: number) {
  const view = emptyView();
  view.claims.put("shop/data", "1", { namespace: "shop", name: "data", uid: "claim", volume: volume.name });
  view.volumes.put(volume.name, "1", volume);
  for (let i = 0; i < volumesOnNodes; i += 1) {
    const uid = `${w1}-${i}` as typeof w1;
    view.workloads.put(`shop/${uid}`, "1", workload(uid, { node: `worker-${i}` as NodeName }));
  }
  for (const store of Object.values(view)) if ("complete" in store) store.complete();
  return view;
}

it.for([
  { volumesOnNodes: 1000, code: 429, headers: { "retry-after": "1" } },
  { volumesOnNodes: 1000, code: 429, headers: {} },
  { volumesOnNodes: 1000, code: 503, headers: {} },
  { volumesOnNodes: 1000, code: 504, headers: {} },
  // Fewer than workers: each comes back, and reads what its write may have done.
  { volumesOnNodes: 40, code: 503, headers: {} },
  { volumesOnNodes: 40, code: 504, headers: {} },
])("SC-6 volumes on nodes against %j: few requests in 20 s, and no events", async ({ volumesOnNodes, ...given }) => {
  answer = given;
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const { port } = server.address() as AddressInfo;
  const credentials = { server: new URL(`http://127.0.0.1:${port}`), tls: () => ({}), token: () => undefined };
  using client = new KubeClient(credentials, { userAgent: "test" });
  using queue = new WorkQueue<VolumeOnNodeKey>();
  using statusQueue = new WorkQueue<VolumeOnNodeKey>();
  const events = new EventRecorder(client, { component: "test" });
  const view = crowdedView(volumesOnNodes);
  const shared = { client, reader: client, events, refusals: new LastingRefusals(), view, statusQueue };
  const missingPods = new MissingPods();
  const unconfirmed = new UnconfirmedWrites();
  using pool = new WarmPool(view, installation);
  const context = {
    ...shared,
    mountpointPods: installation,
    current,
    staleAfterMs: 120_000,
    missingPods,
    unconfirmed,
    statusDelay: { passed: () => Promise.resolve() },
    pool,
    rollout: { note: () => undefined },
  };
  for (const each of view.workloads.values()) for (const key of volumesOnNodeOf(view, each)) queue.add(key);
  const running = runController(call, { queue, workers, reconcile: (each, key) => reconcile(each, context, key) });

  for (let ms = 0; ms < 20_000; ms += 50) {
    for (let i = 0; i < 20; i += 1) await setImmediate();
    vi.advanceTimersByTime(50);
  }
  stop.abort();
  await running;
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.length).toBeLessThan(200);
  expect(asked.filter((request) => request.includes("/events"))).toEqual([]);
});
