/** A work queue in the manner of client-go: a set of keys, each processed by one worker at a time, with a back-off per key. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { longestTimerMs } from "../../runtime/timer.ts";
import { KeyFifo } from "./key-fifo.ts";
import { KeyRateLimiter } from "./key-rate-limiter.ts";

export type Outcome = (
  | { readonly kind: "done" }
  | { readonly kind: "again"; readonly afterMs: number; readonly because: string }
) & {
  /** Objects were written, or would have been if no other client had been faster. A key that writes too often waits. */
  readonly wrote?: boolean;
};

/** Failures back off per key; a deliberate "again" does not, because nothing went wrong. */
export function nextDelayMs(result: Outcome | Error, failures: number): number | undefined {
  if (result instanceof Error) return Math.min(5 * 2 ** failures, 30_000);
  return result.kind === "again" ? result.afterMs : undefined;
}

/**
 * A change shortens the back-off of a failing key to this and no further: an attempt that writes before it fails
 * causes a change of its own, and would otherwise be repeated at once, without end.
 */
const changeDelayMs = 1000;

/** One in so many keys comes from the background, however many others are ready. */
const backgroundEvery = 8;

const noPause = () => Promise.resolve();

export interface QueueFigures {
  readonly depth: number;
  readonly oldestMs: number;
  readonly failing: number;
}

/**
 * Guarantees that a key which is added is processed at least once after that, that no two workers process the same key at the
 * same time, and that keys which are added several times before a worker takes them are processed once. Keys are taken in the
 * order in which they became ready; keys of the background are taken when no others are ready, and at least one in eight.
 *
 * The caller must settle every key that it takes, and must dispose of the queue, which ends its timers.
 */
export class WorkQueue<Key extends string> implements Disposable {
  readonly #ready = new KeyFifo<Key>();
  /** Keys without a known change. None of them is in `#ready`, too. */
  readonly #background = new KeyFifo<Key>();
  /** Key → when a worker took it, in the order of taking. */
  readonly #processing = new Map<Key, number>();
  /** Keys that were added while a worker processes them: the worker may have read the old state, so they become ready again. */
  readonly #dirty = new Set<Key>();
  readonly #delayed = new Map<Key, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  readonly #writes = new KeyRateLimiter<Key>();
  readonly #failing = new Map<Key, { readonly failures: number; readonly notBefore: number }>();
  /** Wakes the workers that wait for a key. */
  readonly #takers = new Set<() => void>();
  /** When a key was last taken, or became the only one that is ready. */
  #movedAtMs = 0;
  /** Keys that were taken since one of the background was. */
  #takenBefore = 0;

  /** Something about this key may have changed. */
  add(key: Key): void {
    if (this.#processing.has(key)) {
      this.#dirty.add(key);
      return;
    }
    const backOffMs = (this.#failing.get(key)?.notBefore ?? 0) - performance.now();
    const waitMs = Math.max(backOffMs, this.#writes.waitMs(key));
    if (waitMs > 0) this.#delay(key, waitMs);
    else this.#makeReady(key);
  }

  /** As `add`, but not urgent: further changes within `afterMs` are processed together with this one. */
  addLater(key: Key, afterMs: number): void {
    if (this.#processing.has(key)) this.#dirty.add(key);
    else if (!this.#ready.has(key)) this.#delay(key, afterMs);
  }

  /**
   * As `add`, but without a known change: keys with one go first, so that a look at everything does not delay them. A key that is
   * processed, or waits for its back-off, is not added.
   */
  addInBackground(key: Key): void {
    if (this.#processing.has(key) || this.#ready.has(key) || this.#failing.has(key)) return;
    this.#noteReady();
    this.#background.push(key);
    this.#wakeTaker();
  }

  /**
   * Waits for a key. The caller must settle the key. Rejects when the call is aborted. Before the key is chosen `pause` is called: further
   * changes of a key that arrive during the pause are processed together with the first.
   */
  async take(call: Call, pause: () => Promise<void> = noPause): Promise<Key> {
    for (;;) {
      await pause();
      const key = this.#next();
      if (key !== undefined) return this.#startProcessing(key);
      await this.#untilAdded(call);
    }
  }

  /** Ends the processing of a key. An Error brings the key back after its back-off, "again" after the time that it names. */
  settle(key: Key, result: Outcome | Error): void {
    this.#processing.delete(key);
    const failures = this.#failing.get(key)?.failures ?? 0;
    const delayMs = nextDelayMs(result, failures);
    if (result instanceof Error) {
      const notBefore = performance.now() + Math.min(delayMs ?? 0, changeDelayMs);
      this.#failing.set(key, { failures: failures + 1, notBefore });
    } else {
      this.#failing.delete(key);
      if (result.wrote === true) this.#writes.take(key);
    }
    if (delayMs !== undefined) this.#delay(key, Math.max(delayMs, this.#writes.waitMs(key)));
    if (this.#dirty.delete(key)) this.add(key);
  }

  /**
   * For how long the queue has not moved although it should: one worker processes the same key, or keys are ready and no worker
   * takes one. A long queue from which workers take keys is slow, but moves.
   */
  get stalledMs(): number {
    const { value: sinceMs } = this.#processing.values().next();
    const processingMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
    return Math.max(processingMs, this.#waitingKeys === 0 ? 0 : performance.now() - this.#movedAtMs);
  }

  /** Whether keys with a change wait for a worker. */
  get isBehind(): boolean {
    return this.#ready.size > 0;
  }

  /** For metrics: keys that wait for a worker and for how long the first of them has waited, and keys whose last attempt failed. */
  get figures(): QueueFigures {
    return {
      depth: this.#waitingKeys,
      oldestMs: Math.max(this.#ready.oldestMs, this.#background.oldestMs),
      failing: this.#failing.size,
    };
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  /** Of two delays for the same key, the one that ends earlier counts. */
  #delay(key: Key, wantedMs: number): void {
    const afterMs = Math.min(wantedMs, longestTimerMs);
    const at = performance.now() + afterMs;
    const pending = this.#delayed.get(key);
    if (pending !== undefined && pending.at <= at) return;
    clearTimeout(pending?.timer);
    this.#delayed.set(key, { at, timer: setTimeout(() => this.#makeReady(key), afterMs) });
  }

  #makeReady(key: Key): void {
    this.#cancelDelay(key);
    this.#background.delete(key);
    this.#noteReady();
    this.#ready.push(key);
    this.#wakeTaker();
  }

  #noteReady(): void {
    if (this.#waitingKeys === 0) this.#movedAtMs = performance.now();
  }

  async #untilAdded(call: Call): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#takers.add(resolve);
    try {
      await orAborted(call, promise);
    } finally {
      // Whoever is woken and does not take the key leaves it to another.
      if (!this.#takers.delete(resolve) && call.signal.aborted && this.#waitingKeys > 0) this.#wakeTaker();
    }
  }

  /** It finds the key by itself, or finds that another worker was faster, and waits again. */
  #wakeTaker(): void {
    const { value: wake } = this.#takers.values().next();
    if (wake === undefined) return;
    this.#takers.delete(wake);
    wake();
  }

  #next(): Key | undefined {
    const isBackgroundDue = this.#takenBefore >= backgroundEvery - 1;
    const [first, second] = isBackgroundDue ? [this.#background, this.#ready] : [this.#ready, this.#background];
    const wasFirst = first.shift();
    const key = wasFirst ?? second.shift();
    const isOfBackground = (wasFirst !== undefined) === isBackgroundDue;
    this.#takenBefore = isOfBackground || this.#background.size === 0 ? 0 : this.#takenBefore + 1;
    return key;
  }

  get #waitingKeys(): number {
    return this.#ready.size + this.#background.size;
  }

  #startProcessing(key: Key): Key {
    this.#cancelDelay(key);
    this.#movedAtMs = performance.now();
    this.#processing.set(key, this.#movedAtMs);
    return key;
  }

  #cancelDelay(key: Key): void {
    clearTimeout(this.#delayed.get(key)?.timer);
    this.#delayed.delete(key);
  }
}
