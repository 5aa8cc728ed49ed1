import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { call, FakeNode, intentOf, mountpointPod, podOf, source, workload } from "../../../test/support/fake-node.ts";
import type { AttachmentStatus } from "../../core/attachment-status.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { Progress } from "../../runtime/progress.ts";
import { publish } from "../publish/publish.ts";
import { probeSources } from "../source/probe-loop.ts";
import { reportStatus } from "./report-status.ts";

let node: FakeNode;
let end: AbortController;
let written: AttachmentStatus[];
let refusal: Error | undefined;
let refused: number;

const client = {
  applyStatus: async (_call: unknown, _kind: unknown, _ref: unknown, said: { status: object }) => {
    refused += refusal === undefined ? 0 : 1;
    if (refusal !== undefined) throw refusal;
    written.push(said.status);
    const { store } = node.cluster.attachments;
    const before = store.get("s3pa-1");
    if (before !== undefined) store.put("s3pa-1", `written-${written.length}`, { ...before, status: said.status });
    return said as never;
  },
};

beforeEach(() => {
  vi.useFakeTimers();
  [end, written, refusal, refused] = [new AbortController(), [], undefined, 0];
  node = new FakeNode().knows(podOf(), workload);
});

afterEach(() => {
  end.abort();
  node[Symbol.dispose]();
  vi.useRealTimers();
});

function start(): void {
  const until = { ...call, signal: end.signal };
  const reported = { attachments: node.cluster.attachments, sources: node.rooms.sources.registry };
  for (const loop of [probeSources(until, node.rooms.sources, new Progress()), reportStatus(until, client, reported)]) {
    loop.catch(() => undefined);
  }
}

const health = (status: AttachmentStatus | undefined) => status?.mountpointPods?.[mountpointPod]?.health;

it("reports a mounted volume once, then its death at once", async () => {
  await publish(call, node.rooms.publishing, intentOf());
  start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.map(health)).toEqual(["serving"]);
  node.kernel.server(source, "dead");
  node.hangUp();
  await vi.advanceTimersByTimeAsync(10);
  expect(written.map(health)).toEqual(["serving", "dead"]);
});

it("does not report a volume as missing that is mounted soon", async () => {
  start();
  await vi.advanceTimersByTimeAsync(1500);
  expect(written).toEqual([]);
  await vi.advanceTimersByTimeAsync(3000);
  expect(written.map(health)).toEqual(["absent"]);
});

it("continues without the right to write, retries rarely, and reports once the right is granted", async () => {
  refusal = new ApiError(403, "Forbidden", "no");
  await publish(call, node.rooms.publishing, intentOf());
  start();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(refused).toBe(1);
  refusal = undefined;
  await vi.advanceTimersByTimeAsync(2000);
  expect(written.map(health)).toEqual(["serving"]);
});
