/** What every program of the driver reports about itself: its version, the process, the event loop, and loops without progress. */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Registry } from "prom-client";
import type { Progress } from "../runtime/progress.ts";
import { byLabel, declareMeasured, single } from "./measured.ts";

export interface Program {
  /** The name of its container. */
  readonly component: "s3-csi-controller" | "s3-pod-reconciler" | "s3-plugin" | "s3-csi-ui";
  readonly version: string;
  readonly progress: Pick<Progress, "stalls">;
  /** Whether anybody can read the metrics: without readers the event loop is not measured. */
  readonly served: boolean;
}

/** Ten samples a second: enough for the delays that matter, tens of milliseconds, and no measurable CPU time. */
const delayResolutionMs = 100;

/** The caller must dispose of it, which ends the measurement of the event loop. */
export class ProgramMetrics implements Disposable {
  readonly registry = new Registry();
  /** undefined: not served. */
  readonly text: (() => AsyncGenerator<string>) | undefined;
  #more: () => Iterable<string> = () => [];
  readonly #delays = monitorEventLoopDelay({ resolution: delayResolutionMs });

  constructor(program: Program) {
    if (program.served) this.#delays.enable();
    this.text = program.served ? () => this.#text() : undefined;
    declareBuild(this.registry, program);
    declareProcess(this.registry);
    declareEventLoop(this.registry, this.#delays);
    declareLoops(this.registry, program.progress);
  }

  /** Further metrics in the text format, with their own names. */
  append(more: () => Iterable<string>): void {
    this.#more = more;
  }

  async *#text(): AsyncGenerator<string> {
    yield await this.registry.metrics();
    yield* this.#more();
  }

  [Symbol.dispose](): void {
    this.#delays.disable();
  }
}

function declareBuild(registry: Registry, { component, version }: Program): void {
  declareMeasured(registry, {
    name: "s3_csi_build_info",
    help: "Always 1. The labels say which program this is, and in which version.",
    labels: ["component", "version", "node_version"],
    read: () => [[{ component, version, node_version: process.version }, 1]],
  });
}

/** Names and meaning are those of every Prometheus client. */
function declareProcess(registry: Registry): void {
  const startedAt = Date.now() / 1000 - process.uptime();
  const gauge = (name: string, help: string, value: () => number) =>
    declareMeasured(registry, { name, help, labels: [], read: single(value) });
  gauge("process_start_time_seconds", "Start time of the process since the Unix epoch in seconds.", () => startedAt);
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", () => process.memoryUsage.rss());
  gauge("process_open_fds", "Number of open file descriptors.", () => readdirSync("/proc/self/fd").length);
  declareMeasured(registry, {
    name: "process_cpu_seconds_total",
    help: "Total user and system CPU time spent in seconds.",
    kind: "counter",
    labels: [],
    read: single(() => (process.cpuUsage().user + process.cpuUsage().system) / 1e6),
  });
}

function declareEventLoop(registry: Registry, delays: ReturnType<typeof monitorEventLoopDelay>): void {
  declareMeasured(registry, {
    name: "s3_csi_event_loop_delay_seconds",
    help: "How late the event loop ran a timer since the last scrape, by percentile.",
    labels: ["percentile"],
    read: byLabel("percentile", () => {
      const [median, p99, longest] = [delays.percentile(50), delays.percentile(99), delays.max].map(delayIn);
      delays.reset();
      return { "50": median ?? 0, "99": p99 ?? 0, "100": longest ?? 0 };
    }),
  });
}

/** The timer's own period is in every sample. */
function delayIn(ns: number): number {
  return Math.max(0, ns / 1e9 - delayResolutionMs / 1000);
}

function declareLoops(registry: Registry, progress: Program["progress"]): void {
  declareMeasured(registry, {
    name: "s3_csi_loop_stalled_seconds",
    help: "For how long a loop of the program has made no progress.",
    labels: ["loop"],
    read: () => progress.stalls().map(({ loop, seconds }) => [{ loop }, seconds] as const),
  });
  declareMeasured(registry, {
    name: "s3_csi_loop_stall_limit_seconds",
    help: "For how long a loop may make no progress before the liveness probe fails.",
    labels: ["loop"],
    read: () => progress.stalls().map(({ loop, limitSeconds }) => [{ loop }, limitSeconds] as const),
  });
}
