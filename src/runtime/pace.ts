import type { Call } from "./call.ts";
import { elapsed } from "./elapsed.ts";

/** Limits how often something is done: `burst` times at once, and after that every `everyMs`. */
export class Pace {
  readonly #everyMs: number;
  readonly #burst: number;
  #nextAtMs = -Infinity;

  constructor({ everyMs, burst }: { readonly everyMs: number; readonly burst: number }) {
    this.#everyMs = everyMs;
    this.#burst = burst;
  }

  /** Resolves when the caller may go on, or when the call ends. Callers go on in the order in which they came. */
  async next(call: Pick<Call, "signal">): Promise<void> {
    const nowMs = performance.now();
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs - this.#burst * this.#everyMs) + this.#everyMs;
    if (this.#nextAtMs > nowMs) await elapsed(call, this.#nextAtMs - nowMs);
  }
}
