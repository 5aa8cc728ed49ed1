import type { Logger } from "../runtime/log.ts";

/** An API server that restarts refuses for a moment what it grants later. Manifests of 2.x never grant it. */
const pauseMs = 60_000;

/** A right that may be missing. After a refusal the caller makes no such requests for a minute, and the log says so once. */
export class MissingRight {
  #untilMs = 0;
  #isKnown = false;

  /** How long the caller must not ask; 0: it may. */
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
