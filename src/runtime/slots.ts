import type { Call } from "./call.ts";

/** Limits how many pieces of work run at the same time, over all callers. The caller that has waited longest is next. */
export class Slots {
  readonly #count: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  /**
   * Performs the work for each item. After a failure or an abort no further work starts, and the promise settles when the work in
   * progress has settled: no work goes on after the caller has its answer.
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
      if (at === -1) return; // this caller has the slot already, and leaves it below
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
