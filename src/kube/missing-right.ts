import type { Logger } from "../runtime/log.ts";

/** A restarting API server refuses what it will grant a moment later; manifests of 2.x never grant it. */
const pauseMs = 60_000;

/** A right that may be missing: after a refusal no requests are made in vain for a while, and the log says so once. */
export class MissingRight {
  #untilMs = 0;
  #isKnown = false;

  /** 0: ask. */
  get waitMs(): number {
    return Math.max(0, this.#untilMs - performance.now());
  }

  refused(log: Logger, what: string, error: Error): void {
    this.#untilMs = performance.now() + pauseMs;
    if (!this.#isKnown) log.info(what, { error });
    this.#isKnown = true;
  }

  granted(): void {
    this.#isKnown = false;
  }
}
