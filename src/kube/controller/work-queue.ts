/** What is to be looked at: a set of keys, each in one pair of hands at a time, failures further and further apart. */
import type { Call } from "../../runtime/call.ts";
import { longestTimerMs } from "../../runtime/timer.ts";
import { orAborted } from "../or-aborted.ts";

export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "again"; readonly afterMs: number; readonly because: string };

/** Failures back off per key; a deliberate "again" does not, because nothing went wrong. */
export function nextDelayMs(result: Outcome | Error, failures: number): number | undefined {
  if (result instanceof Error) return Math.min(5 * 2 ** failures, 30_000);
  return result.kind === "again" ? result.afterMs : undefined;
}

/**
 * A change shortens the back-off of a failing key to this and no further: an attempt that writes before it fails
 * causes a change of its own, and must not chase itself.
 */
const changeDelayMs = 1000;

export class WorkQueue<Key extends string> implements Disposable {
  /** In the order of arrival. */
  readonly #ready = new Set<Key>();
  /** Since when, in the order of taking. */
  readonly #inHands = new Map<Key, number>();
  /** Added while in hands: the hands may have looked already, so it is looked at again. */
  readonly #changedMeanwhile = new Set<Key>();
  readonly #delayed = new Map<Key, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  readonly #failing = new Map<Key, { readonly failures: number; readonly notBefore: number }>();
  readonly #takers = new Set<(key: Key) => void>();
  /** When a key was last taken, or became the only one that is ready. */
  #movedAtMs = 0;

  /** Something about this key may have changed. */
  add(key: Key): void {
    if (this.#inHands.has(key)) {
      this.#changedMeanwhile.add(key);
      return;
    }
    const waitMs = (this.#failing.get(key)?.notBefore ?? 0) - performance.now();
    if (waitMs > 0) this.#delay(key, waitMs);
    else this.#makeReady(key);
  }

  /** The same, and there is time: whatever else changes until then is looked at with it. */
  addLater(key: Key, afterMs: number): void {
    if (this.#inHands.has(key)) this.#changedMeanwhile.add(key);
    else if (!this.#ready.has(key)) this.#delay(key, afterMs);
  }

  /** Whoever takes a key must settle it. Rejects when the call is aborted. */
  async take(call: Call): Promise<Key> {
    const { value: first } = this.#ready.values().next();
    if (first !== undefined) return this.#hand(first);

    const { promise, resolve } = Promise.withResolvers<Key>();
    this.#takers.add(resolve);
    try {
      return await orAborted(call, promise);
    } finally {
      this.#takers.delete(resolve);
    }
  }

  settle(key: Key, result: Outcome | Error): void {
    this.#inHands.delete(key);
    const failures = this.#failing.get(key)?.failures ?? 0;
    const delayMs = nextDelayMs(result, failures);
    if (result instanceof Error) {
      const notBefore = performance.now() + Math.min(delayMs ?? 0, changeDelayMs);
      this.#failing.set(key, { failures: failures + 1, notBefore });
    } else {
      this.#failing.delete(key);
    }
    if (delayMs !== undefined) this.#delay(key, delayMs);
    if (this.#changedMeanwhile.delete(key)) this.add(key);
  }

  /**
   * For how long something has not moved that should: a key in the same hands, or keys that are ready and nobody takes one.
   * A long queue out of which keys are taken is slow, but moves.
   */
  get stalledMs(): number {
    const { value: sinceMs } = this.#inHands.values().next();
    const heldMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
    return Math.max(heldMs, this.#ready.size === 0 ? 0 : performance.now() - this.#movedAtMs);
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  /** The earlier of two appointments holds. */
  #delay(key: Key, wantedMs: number): void {
    const afterMs = Math.min(wantedMs, longestTimerMs);
    const at = performance.now() + afterMs;
    const appointed = this.#delayed.get(key);
    if (appointed !== undefined && appointed.at <= at) return;
    clearTimeout(appointed?.timer);
    this.#delayed.set(key, { at, timer: setTimeout(() => this.#makeReady(key), afterMs) });
  }

  #makeReady(key: Key): void {
    this.#cancelDelay(key);
    if (this.#ready.size === 0) this.#movedAtMs = performance.now();
    this.#ready.add(key);
    const { value: taker } = this.#takers.values().next();
    if (taker === undefined) return;
    this.#takers.delete(taker);
    taker(this.#hand(key));
  }

  #hand(key: Key): Key {
    this.#ready.delete(key);
    this.#movedAtMs = performance.now();
    this.#inHands.set(key, this.#movedAtMs);
    return key;
  }

  #cancelDelay(key: Key): void {
    clearTimeout(this.#delayed.get(key)?.timer);
    this.#delayed.delete(key);
  }
}
