/** How long the event loop was held, and what that cost. */
import { performance } from "node:perf_hooks";

export interface Reading {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Longest time between two turns of the loop; other programs on the same cores lengthen it. */
  readonly longestGapMs: number;
  /** CPU time of this thread in the longest of these gaps, which other programs do not lengthen. */
  readonly longestTurnMs: number;
}

export class LoopWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #atMs = performance.now();
  #cpuMs = cpuMs();
  #longestGapMs = 0;
  #longestTurnMs = 0;
  #began = { atMs: performance.now(), cpuMs: processCpuMs() };

  /** A timer of this interval is due in every turn that matters here. Each look costs a little CPU time. */
  constructor(intervalMs = 2) {
    this.#timer = setInterval(() => this.#tick(), intervalMs);
    this.#timer.unref();
  }

  /** What happened since the last reading. */
  read(): Reading {
    this.#tick();
    const reading = {
      seconds: (performance.now() - this.#began.atMs) / 1000,
      cpuSeconds: (processCpuMs() - this.#began.cpuMs) / 1000,
      longestGapMs: this.#longestGapMs,
      longestTurnMs: this.#longestTurnMs,
    };
    this.#longestGapMs = 0;
    this.#longestTurnMs = 0;
    this.#began = { atMs: performance.now(), cpuMs: processCpuMs() };
    return reading;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const cpu = cpuMs();
    this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#atMs);
    this.#longestTurnMs = Math.max(this.#longestTurnMs, cpu - this.#cpuMs);
    this.#atMs = now;
    this.#cpuMs = cpu;
  }
}

/**
 * Resolves when the loop has had little to do for this long, and `progress` has not changed. Both tell that also on cores that others
 * use, too: CPU time does not grow while others have the cores, and a loop with work to do advances between two looks.
 */
export async function untilIdle(quietMs: number, progress: () => number): Promise<void> {
  let looks = 0;
  while (looks < quietMs / lookEveryMs) {
    const before = { cpuMs: cpuMs(), progress: progress() };
    await new Promise((resolve) => {
      setTimeout(resolve, lookEveryMs);
    });
    const isIdle = cpuMs() - before.cpuMs < idleMs && progress() === before.progress;
    looks = isIdle ? looks + 1 : 0;
  }
}

const lookEveryMs = 100;
const idleMs = 20;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Of all threads: V8 collects garbage on others, too. */
function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
