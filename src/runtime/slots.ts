import type { Call } from "./call.ts";

/** At most so many pieces of work at the same time, over all callers. The caller that waits longest is next. */
export class Slots {
  readonly #count: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  /**
   * Performs the work for each item. When a piece of work fails or the call is aborted, no further one starts, and the promise
   * settles only after the ones in progress have settled: nothing goes on after the caller has its answer.
   */
  async forEach<Item>(call: Call, items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
    const queue = items.values();
    const failures: unknown[] = [];
    const worker = async () => {
      for (const item of queue) {
        try {
          using _ = await this.#enter(call);
          if (failures.length > 0) return;
          await work(item);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#count, items.length) }, worker));
    if (failures.length > 0) throw failures[0];
  }

  async #enter({ signal }: Call): Promise<Disposable> {
    signal.throwIfAborted();
    const slot = { [Symbol.dispose]: () => this.#leave() };
    if (this.#free > 0) {
      this.#free -= 1;
      return slot;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    const abort = () => {
      const at = this.#waiting.indexOf(turn.resolve);
      if (at === -1) return; // the slot is handed over already, and the caller gives it back
      this.#waiting.splice(at, 1);
      turn.reject(signal.reason);
    };
    signal.addEventListener("abort", abort);
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    return slot;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
