import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";

/** Operators read statuses, and a publish fails early by them (MP-10), so they are also written while the reconciler is behind for long. */
const longestMs = 5000;
const lookEveryMs = 250;

/**
 * Lets statuses wait while workloads wait for their attachments: a status costs the API server half of what a Mountpoint Pod and its
 * attachment do.
 */
export class StatusDelay {
  readonly #isBehind: () => boolean;
  #behindSinceMs: number | undefined;

  constructor(isBehind: () => boolean) {
    this.#isBehind = isBehind;
  }

  /** Resolves when a status may be written: when the reconciler is not behind, or has been for five seconds. Rejects when the call is aborted. */
  async passed(call: Call): Promise<void> {
    if (this.#isBehind()) this.#behindSinceMs ??= performance.now();
    const sinceMs = this.#behindSinceMs ?? performance.now();
    while (this.#isBehind()) {
      if (performance.now() - sinceMs >= longestMs) return;
      await elapsed(call, lookEveryMs);
      call.signal.throwIfAborted();
    }
    this.#behindSinceMs = undefined;
  }
}
