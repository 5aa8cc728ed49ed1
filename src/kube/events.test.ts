import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { jsonLogger } from "../runtime/log.ts";
import { ApiError } from "./client/api-error.ts";
import type { KubeClient } from "./client/client.ts";
import { type About, EventRecorder } from "./events.ts";
import { kinds } from "./kinds.ts";

type Written = Record<string, unknown> & { metadata: { name: string; namespace: string }; count: number };

/** Holds Events as the server does: by name, and only those that exist can be patched. */
function fakeCluster() {
  const events = new Map<string, Written>();
  const cluster = {
    events,
    writes: 0,
    failure: undefined as Error | undefined,
    create: async (_call: unknown, _kind: unknown, event: unknown) => {
      cluster.writes += 1;
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

const about: About = { kind: kinds.pods, metadata: { name: "app", namespace: "team", uid: "u1" } };
const happening = { type: "Warning", reason: "MountFailed", message: "no such bucket" } as const;

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

const numbered = (i: number) => ({ ...happening, message: `bucket ${i}` });
const written = () => [...cluster.events.values()];

it("writes an Event that kubectl describe finds", async () => {
  await recorder.record(call, about, happening);
  expect(written()).toEqual([
    expect.objectContaining({
      ...happening,
      metadata: { name: expect.stringMatching(/^app\.[0-9a-f]{16}$/), namespace: "team" },
      involvedObject: { apiVersion: "v1", kind: "Pod", name: "app", namespace: "team", uid: "u1" },
      source: { component: "s3-csi-node", host: "worker-1" },
      firstTimestamp: expect.stringMatching(/T\d\d:\d\d:\d\dZ$/),
      count: 1,
    }),
  ]);
});

it("puts Events about objects without a namespace into default", async () => {
  await recorder.record(call, { kind: kinds.attachments, metadata: { name: "s3pa-1", uid: "u2" } }, happening);
  expect(written()[0]?.metadata.namespace).toBe("default");
});

it("counts what repeats, without a write for each", async () => {
  for (let i = 0; i < 20; i += 1) await recorder.record(call, about, happening);
  expect(cluster.writes).toBe(1);
  vi.advanceTimersByTime(10_000);
  await recorder.record(call, about, happening);
  expect(written().map(({ count }) => count)).toEqual([21]);
});

it.for([
  { other: "object", uid: "u9", said: happening },
  { other: "reason", uid: "u1", said: { ...happening, reason: "Other" } },
  { other: "message", uid: "u1", said: { ...happening, message: "other" } },
  { other: "type", uid: "u1", said: { ...happening, type: "Normal" } as const },
])("takes another $other for another Event", async ({ uid, said }) => {
  await recorder.record(call, about, happening);
  await recorder.record(call, { ...about, metadata: { ...about.metadata, uid } }, said);
  expect(written()).toHaveLength(2);
});

it("writes a new Event when the server has dropped the old one", async () => {
  await recorder.record(call, about, happening);
  cluster.events.clear();
  vi.advanceTimersByTime(3_600_000);
  await recorder.record(call, about, happening);
  expect(written().map(({ count }) => count)).toEqual([1]);
});

it("forgets the longest unused beyond its limit, and counts it on as the server remembers it", async () => {
  for (let i = 0; i < 500; i += 1) await recorder.record(call, about, numbered(i));
  await recorder.record(call, about, numbered(0)); // used again, so 1 is the oldest now
  await recorder.record(call, about, numbered(500));
  expect(written()).toHaveLength(501);
  await recorder.record(call, about, numbered(0));
  expect(written()).toHaveLength(501);
  await recorder.record(call, about, numbered(1));
  expect(written()).toHaveLength(501);
  const forgotten = written().find(({ message }) => (message as string) === "bucket 1");
  expect(forgotten?.count).toBe(2);
});

it("writes no Event twice, however many there are that come again and again", async () => {
  for (let round = 1; round <= 3; round += 1) {
    for (let i = 0; i < 600; i += 1) await recorder.record(call, about, numbered(i));
    vi.advanceTimersByTime(120_000);
  }
  expect(written()).toHaveLength(600);
  expect(new Set(written().map(({ count }) => count))).toEqual(new Set([3]));
});

it("counts on what a predecessor wrote, and leaves alone what another program says", async () => {
  await recorder.record(call, about, happening);
  const record = (component: string, host: string) =>
    new EventRecorder(cluster as unknown as KubeClient, { component, host }).record(call, about, happening);
  await record("s3-csi-node", "worker-1");
  await record("s3-csi-node", "worker-2");
  await record("s3-csi-controller", "worker-1");
  expect(written().map(({ count }) => count)).toEqual([2, 1, 1]);
  expect(lines).toEqual([]);
});

it("costs nothing but the Event when rights are missing, and says so once", async () => {
  cluster.failure = new ApiError(403, "Forbidden", "events is forbidden");
  await recorder.record(call, about, happening);
  await recorder.record(call, about, happening);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("events is forbidden");

  cluster.failure = undefined;
  await recorder.record(call, about, happening);
  expect(written()).toHaveLength(1);
});

it("keeps names and messages within the server's limits", async () => {
  const long: About = { ...about, metadata: { ...about.metadata, name: "n".repeat(253) } };
  await recorder.record(call, long, { ...happening, message: "m".repeat(5000) });
  expect(written()[0]?.metadata.name.length).toBeLessThanOrEqual(253);
  expect(written()[0]?.["message"]).toHaveLength(1024);
});
