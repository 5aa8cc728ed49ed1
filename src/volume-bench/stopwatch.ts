/** Times operations one by one and adds them up. */
import type { Measurement } from "../core/volume-bench.ts";

export class Stopwatch {
  readonly #name: Measurement["name"];
  readonly #now: () => number;
  readonly #latencies: number[] = [];
  #bytes = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(name: Measurement["name"], now: () => number = () => performance.now()) {
    this.#name = name;
    this.#now = now;
  }

  /** The operation gives the number of bytes that it moved. */
  async time(operation: () => Promise<number>): Promise<number> {
    const started = this.#now();
    const bytes = await operation();
    this.#latencies.push(this.#now() - started);
    this.#bytes += bytes;
    return bytes;
  }

  /** Undefined: nothing was timed. */
  get measurement(): Measurement | undefined {
    if (this.#latencies.length === 0) return undefined;
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    return {
      name: this.#name,
      operations: sorted.length,
      bytes: this.#bytes,
      seconds: sorted.reduce((sum, each) => sum + each, 0) / 1000,
      latencyMs: { p50: at(0.5), p95: at(0.95), max: at(1) },
    };
  }
}
