import { expect, it } from "vitest";
import { Progress } from "../runtime/progress.ts";
import { ProgramMetrics } from "./program-metrics.ts";
import { QueueMetrics } from "./queues.ts";
import { apiRequests, csiCalls, storeRequests } from "./requests.ts";

const program = { component: "s3-plugin", version: "3.0.0", progress: new Progress(), served: true } as const;

function valueIn(text: string, name: string): number {
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

/** Holds the event loop. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

async function textOf(metrics: ProgramMetrics): Promise<string> {
  let all = "";
  for await (const part of metrics.text?.() ?? []) all += part;
  return all;
}

it("says which program this is", async () => {
  using metrics = new ProgramMetrics(program);
  const labels = `component="s3-plugin",version="3.0.0",node_version="${process.version}"`;
  expect(await textOf(metrics)).toContain(`\ns3_csi_build_info{${labels}} 1\n`);
});

it("measures the process at every scrape", async () => {
  using metrics = new ProgramMetrics(program);
  const first = await textOf(metrics);
  expect(valueIn(first, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
  expect(valueIn(first, "process_open_fds")).toBeGreaterThan(2);
  expect(valueIn(first, "process_start_time_seconds")).toBeLessThan(Date.now() / 1000);
  const cpu = valueIn(first, "process_cpu_seconds_total");
  for (const end = process.cpuUsage().user + 50_000; process.cpuUsage().user < end; );
  const later = valueIn(await textOf(metrics), "process_cpu_seconds_total");
  expect(later).toBeGreaterThan(cpu + 0.04);
});

it("measures the delay of the event loop since the last scrape", async () => {
  using metrics = new ProgramMetrics(program);
  const longest = async () =>
    Number(/event_loop_delay_seconds{percentile="100"} (.*)/.exec(await textOf(metrics))?.[1] ?? Number.NaN);
  // A scrape begins the histogram anew, and the first timer after that is not measured.
  const afterBlocks = async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      block(700);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    return await longest();
  };
  await expect.poll(afterBlocks).toBeGreaterThan(0.4);
});

it("shows loops that make no progress, and how long they may", async () => {
  const progress = new Progress(600_000);
  using metrics = new ProgramMetrics({ ...program, progress });
  using _loop = progress.follow("reconciling", () => 42_000, 60_000);
  const text = await textOf(metrics);
  expect(text).toContain('s3_csi_loop_stalled_seconds{loop="reconciling"} 42\n');
  expect(text).toContain('s3_csi_loop_stall_limit_seconds{loop="reconciling"} 60\n');
});

it("drops the series of a loop that has ended", async () => {
  const progress = new Progress();
  using metrics = new ProgramMetrics({ ...program, progress });
  progress.follow("reconciling", () => 0)[Symbol.dispose]();
  expect(await textOf(metrics)).not.toContain("reconciling");
});

it("is not served unless asked for", () => {
  using metrics = new ProgramMetrics({ ...program, served: false });
  expect(metrics.text).toBeUndefined();
});

it("counts calls and requests by what they were, never by object", async () => {
  using metrics = new ProgramMetrics(program);
  csiCalls(metrics.registry)({ method: "csi.v1.Node/NodePublishVolume", code: "OK", seconds: 0.2 });
  const answered = apiRequests(metrics.registry);
  answered({ verb: "patch", resource: "pods", code: 409, seconds: 0.1 });
  answered({ verb: "watch", resource: "pods", code: undefined, seconds: 0.1 });
  storeRequests(metrics.registry)({ operation: "HeadBucket", result: "missing", seconds: 0.1 });
  const text = await textOf(metrics);
  for (const line of [
    's3_csi_rpc_seconds_count{method="NodePublishVolume",code="OK"} 1',
    's3_csi_rpc_seconds_bucket{le="0.1",method="NodePublishVolume",code="OK"} 0',
    's3_csi_api_requests_total{verb="patch",resource="pods",code="409"} 1',
    's3_csi_api_requests_total{verb="watch",resource="pods",code="none"} 1',
    's3_csi_api_request_seconds_count{verb="patch"} 1',
    's3_csi_s3_request_seconds_count{operation="HeadBucket",result="missing"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});

it("shows a queue for as long as it exists", async () => {
  using metrics = new ProgramMetrics(program);
  const queues = new QueueMetrics(metrics.registry);
  const figures = { depth: 3, oldestMs: 1500, failing: 1 };
  const followed = queues.follow("reconcile", { figures });
  queues.attemptsOf("reconcile")({ result: "failed", seconds: 0.01 });
  const text = await textOf(metrics);
  expect(text).toContain('s3_csi_queue_depth{queue="reconcile"} 3\n');
  expect(text).toContain('s3_csi_queue_oldest_seconds{queue="reconcile"} 1.5\n');
  expect(text).toContain('s3_csi_queue_failing{queue="reconcile"} 1\n');
  expect(text).toContain('s3_csi_reconcile_seconds_count{queue="reconcile",result="failed"} 1\n');
  followed[Symbol.dispose]();
  expect(await textOf(metrics)).not.toContain("s3_csi_queue_depth{");
});

it("has what a program appends, at every scrape", async () => {
  using metrics = new ProgramMetrics(program);
  let scrapes = 0;
  metrics.append(() => ["more ", `${++scrapes}\n`]);
  await textOf(metrics);
  expect(await textOf(metrics)).toMatch(/\nmore 2\n$/);
});
