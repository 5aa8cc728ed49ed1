import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Call } from "../runtime/call.ts";
import { jsonLogger } from "../runtime/log.ts";
import { ApiError } from "./client/api-error.ts";
import type { KubeClient } from "./client/client.ts";
import { type About, EventWriter, type Happening } from "./event-writer.ts";
import { EventRecorder } from "./events.ts";
import { kinds } from "./kinds.ts";

type Written = Record<string, unknown> & { metadata: { name: string; namespace: string }; count: number };

/** Holds Events as the server does: by name, and only those that exist can be patched. */
function fakeCluster() {
  const events = new Map<string, Written>();
  const cluster = {
    events,
    writes: 0,
    atOnce: 0,
    mostAtOnce: 0,
    failure: undefined as Error | undefined,
    paused: Promise.resolve(),
    create: async ({ signal }: Call, _kind: unknown, event: unknown) => {
      cluster.writes += 1;
      cluster.atOnce += 1;
      cluster.mostAtOnce = Math.max(cluster.mostAtOnce, cluster.atOnce);
      await Promise.race([cluster.paused, aborted(signal)]).finally(() => {
        cluster.atOnce -= 1;
      });
      if (cluster.failure) throw cluster.failure;
      const { name } = (event as Written).metadata;
      if (events.has(name)) throw new ApiError(409, "AlreadyExists", "already exists");
      events.set(name, event as Written);
    },
    patch: async (_call: unknown, _kind: unknown, { name }: { name: string }, patch: object) => {
      cluster.writes += 1;
      const event = events.get(name);
      if (event === undefined) throw new ApiError(404, "NotFound", "gone");
      const patched = { ...event, ...patch };
      events.set(name, patched);
      return patched;
    },
  };
  return cluster;
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason));
  promise.catch(() => undefined);
  return promise;
}

const about: About = { kind: kinds.pods, metadata: { name: "app", namespace: "team", uid: "u1" } };
const happening = { reason: "VolumeRefused", message: "no such bucket" } as const;

let cluster: ReturnType<typeof fakeCluster>;
let recorder: EventRecorder;
let lines: string[];
let call: { signal: AbortSignal; log: ReturnType<typeof jsonLogger> };
beforeEach(() => {
  vi.useFakeTimers();
  cluster = fakeCluster();
  recorder = new EventRecorder(cluster as unknown as KubeClient, { component: "s3-csi-node", host: "worker-1" });
  lines = [];
  call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(line), 2) };
});
afterEach(() => vi.useRealTimers());

/** Until nothing waits to be written. */
async function record(what: About, said: Happening, by = recorder): Promise<void> {
  by.record(call, what, said);
  await vi.advanceTimersByTimeAsync(50);
  await by.flushed();
}

const numbered = (i: number) => ({ ...happening, message: `bucket ${i}` });
const written = () => [...cluster.events.values()];

it("writes a new event that follows repetitions of others in the same moment", async () => {
  for (const i of [1, 2]) await record(about, numbered(i));
  for (const i of [1, 2, 3]) recorder.record(call, about, numbered(i));
  await vi.advanceTimersByTimeAsync(1000);
  expect(written().map(({ message }) => message)).toContain("bucket 3");
});

it("writes an Event that kubectl describe finds", async () => {
  await record(about, happening);
  expect(written()).toEqual([
    expect.objectContaining({
      ...happening,
      type: "Warning",
      metadata: { name: expect.stringMatching(/^app\.[0-9a-f]{16}$/), namespace: "team" },
      involvedObject: { apiVersion: "v1", kind: "Pod", name: "app", namespace: "team", uid: "u1" },
      source: { component: "s3-csi-node", host: "worker-1" },
      firstTimestamp: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/),
      count: 1,
    }),
  ]);
});

it("puts Events about objects without a namespace into default", async () => {
  await record({ kind: kinds.attachments, metadata: { name: "s3pa-1", uid: "u2" } }, happening);
  expect(written()[0]?.metadata.namespace).toBe("default");
});

it("counts what repeats, without a write for each", async () => {
  for (let i = 0; i < 20; i += 1) await record(about, happening);
  expect(cluster.writes).toBe(1);
  vi.advanceTimersByTime(10_000);
  await record(about, happening);
  expect(written().map(({ count }) => count)).toEqual([21]);
});

it.for([
  { other: "object", uid: "u9", said: happening },
  { other: "reason", uid: "u1", said: { ...happening, reason: "VolumeQuestionable" } as const },
  { other: "message", uid: "u1", said: { ...happening, message: "other" } },
])("takes another $other for another Event", async ({ uid, said }) => {
  await record(about, happening);
  await record({ ...about, metadata: { ...about.metadata, uid } }, said);
  expect(written()).toHaveLength(2);
});

it("writes a new Event when the server has dropped the old one", async () => {
  await record(about, happening);
  cluster.events.clear();
  vi.advanceTimersByTime(3_600_000);
  await record(about, happening);
  expect(written().map(({ count }) => count)).toEqual([1]);
});

it("forgets the longest unused beyond its limit, and counts it on as the server remembers it", async () => {
  const writer = new EventWriter(cluster as unknown as KubeClient, { component: "s3-csi-node" });
  const write = async (i: number) => {
    const occurred = { about, happening: numbered(i), times: 1 };
    const name = writer.nameOf(about, occurred.happening);
    if (!writer.counts(name, occurred)) await writer.write(call, name, occurred);
  };
  for (let i = 0; i < 10_000; i += 1) await write(i);
  await write(0); // used again, so 1 is the oldest now
  await write(10_000);
  expect(cluster.writes).toBe(10_001);
  await write(0);
  expect(cluster.writes).toBe(10_001);
  await write(1);
  expect(written()).toHaveLength(10_001);
  const forgotten = written().find(({ message }) => (message as string) === "bucket 1");
  expect(forgotten?.count).toBe(2);
});

it("SC-6 a thousand lasting warnings are written rarely, and no Event is written twice", async () => {
  const [warnings, sweeps] = [1000, 30];
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    for (let i = 0; i < warnings; i += 1) recorder.record(call, about, numbered(i));
    await vi.advanceTimersByTimeAsync(120_000);
    await recorder.flushed();
  }
  expect(written()).toHaveLength(warnings);
  // Written at first and at ten of the other sweeps of this hour: the pause between two writes doubles up to ten minutes.
  expect(cluster.writes).toBeLessThanOrEqual(11 * warnings);
  expect(Math.min(...written().map(({ count }) => count))).toBeGreaterThan(sweeps / 2);
});

it("SC-6 the API server gets a hundred Events at once and then 20 a second, two at the same time", async () => {
  for (let i = 0; i < 1000; i += 1) recorder.record(call, about, numbered(i));
  await vi.advanceTimersByTimeAsync(0);
  expect(cluster.writes).toBe(100);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(cluster.writes).toBe(300);
  expect(cluster.mostAtOnce).toBe(2);
});

it("SC-6 never more than 1,000 different Events wait; the rest is dropped, and the log says so once", async () => {
  for (let i = 0; i < 5000; i += 1) recorder.record(call, about, numbered(i));
  await vi.advanceTimersByTimeAsync(600_000);
  await recorder.flushed();
  // Two were being written when the thousand were full.
  expect(written().length).toBeLessThanOrEqual(1002);
  expect(lines.filter((line) => line.includes("events are dropped"))).toHaveLength(1);
});

it.for([429, 500, 503, 504])("SC-6 an Event that the server answers with %i is written later", async (code) => {
  cluster.failure = new ApiError(code, "", "busy");
  const recorded = record(about, happening);
  await expect.poll(() => cluster.writes).toBeGreaterThan(0);
  cluster.failure = undefined;
  await recorded;
  expect(written()).toHaveLength(1);
});

it("an Event that occurs again while it is written is written once, and counted", async () => {
  const paused = Promise.withResolvers<void>();
  cluster.paused = paused.promise;
  recorder.record(call, about, happening);
  recorder.record(call, about, numbered(1));
  recorder.record(call, about, happening);
  paused.resolve();
  await recorder.flushed();
  vi.advanceTimersByTime(10_000);
  await record(about, happening);
  expect(written().map(({ count }) => count)).toEqual([3, 1]);
  expect(cluster.writes).toBe(3);
});

it("the end waits for the last Events, for a second at most", async () => {
  recorder.record(call, about, happening);
  await recorder[Symbol.asyncDispose]();
  expect(written()).toHaveLength(1);

  const hung = new EventRecorder(cluster as unknown as KubeClient, { component: "s3-csi-node" });
  cluster.paused = new Promise<void>(() => undefined);
  hung.record(call, about, numbered(1));
  const ended = hung[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(1000);
  await ended;
  expect(written()).toHaveLength(1);
  expect(lines).toEqual([]);
});

it("counts on what a predecessor wrote, and leaves alone what another program says", async () => {
  await record(about, happening);
  const recordAs = (component: string, host: string) =>
    record(about, happening, new EventRecorder(cluster as unknown as KubeClient, { component, host }));
  await recordAs("s3-csi-node", "worker-1");
  await recordAs("s3-csi-node", "worker-2");
  await recordAs("s3-csi-controller", "worker-1");
  expect(written().map(({ count }) => count)).toEqual([2, 1, 1]);
  expect(lines).toEqual([]);
});

it("costs nothing but the Event when rights are missing, and says so once", async () => {
  cluster.failure = new ApiError(403, "Forbidden", "events is forbidden");
  await record(about, happening);
  await record(about, happening);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("events is forbidden");

  cluster.failure = undefined;
  await record(about, happening);
  expect(written()).toHaveLength(1);
});

it("keeps names and messages within the server's limits", async () => {
  const long: About = { ...about, metadata: { ...about.metadata, name: "n".repeat(253) } };
  await record(long, { ...happening, message: "m".repeat(5000) });
  expect(written()[0]?.metadata.name.length).toBeLessThanOrEqual(253);
  expect(written()[0]?.["message"]).toMatch(/^m{1018} \[cut\]$/);
});

it("takes the type of the event from the catalogue", async () => {
  await record(about, { reason: "BucketRetained", message: "kept" });
  expect(written()[0]?.["type"]).toBe("Normal");
});

it("OP-4 a message with characters of several bytes fits, and its fix stays whole", async () => {
  await record(about, { ...happening, message: "🪣".repeat(1000), fix: "Create the bucket." });
  const message = written()[0]?.["message"] as string;
  expect(message).toMatch(/^(🪣)+ \[cut\]\. Create the bucket\.$/u);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
});

it("SE-4 neither message nor fix shows the password of a URL, cut or not", async () => {
  for (let start = 970; start < 1010; start += 1) {
    const url = "http://user:hunter2@proxy";
    await record(about, { ...happening, message: `${"x".repeat(start)} ${url} x`, fix: `Try ${url}.` });
  }
  expect(JSON.stringify(written())).not.toContain("hunter");
});
