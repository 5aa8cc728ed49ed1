/** What the reading thread has seen, file by file, in phases that the benchmark sets. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Reading } from "./reader.ts";

export class Readings {
  readonly #worker: Worker;
  readonly #pending: Reading[];
  errors = 0;

  constructor(paths: readonly string[]) {
    this.#worker = new Worker(new URL("reader.ts", import.meta.url), { workerData: paths });
    this.#pending = paths.map(() => nothing);
  }

  /** A new phase: what was read so far counts for none. */
  async begin(): Promise<void> {
    await this.#take();
    for (const at of this.#pending.keys()) this.#pending[at] = nothing;
  }

  /** The phase so far. */
  async of(file: number): Promise<Reading> {
    await this.#take();
    return this.#pending[file] ?? nothing;
  }

  /** When each of these files was first read from another file system. */
  async untilChanged(files: readonly number[]): Promise<readonly number[]> {
    for (;;) {
      await this.#take();
      const times = files.map((file) => this.#pending[file]?.changedAt).filter((time) => time !== undefined);
      if (times.length === files.length) return times;
      await pause(5);
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  async #take(): Promise<void> {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage("report");
    const [readings] = (await once(this.#worker, "message")) as [readonly Reading[]];
    for (const [at, reading] of readings.entries()) this.#pending[at] = joined(this.#pending[at] ?? nothing, reading);
    this.errors += readings.reduce((sum, { errors }) => sum + errors, 0);
  }
}

const nothing: Reading = { longestMs: 0, errors: 0, changedAt: undefined };

function joined(before: Reading, after: Reading): Reading {
  return {
    longestMs: Math.max(before.longestMs, after.longestMs),
    errors: before.errors + after.errors,
    changedAt: before.changedAt ?? after.changedAt,
  };
}
