/** Makes watches list again, and reports when all of them have. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../or-aborted.ts";

/** The part of one watch. */
export interface WatchFreshness {
  /** Aborted when the watch must drop its connection and list again. The watch asks for it at every attempt. */
  signal(): AbortSignal;
  /** The watch calls this when a list begins that it requested after the last abort. */
  begun(): void;
  /** The watch calls this when the store holds the list that began last. */
  completed(): void;
}

/**
 * A watch may stall without an error: a proxy or a server holds its connection open and sends nothing. The client notices that only
 * after the limit of silence, so one store may be minutes older than another. A caller that must not act on old state renews first.
 */
export class Freshness {
  readonly #completed = new Map<WatchFreshness, number>();
  #round = 0;
  #stop = new AbortController();
  #progress = Promise.withResolvers<void>();

  /** Adds a watch. The caller must do so before the watch starts. */
  join(): WatchFreshness {
    let begun = 0;
    const watch: WatchFreshness = {
      signal: () => this.#stop.signal,
      begun: () => {
        begun = this.#round;
      },
      completed: () => {
        this.#completed.set(watch, begun);
        this.#progress.resolve();
        this.#progress = Promise.withResolvers();
      },
    };
    this.#completed.set(watch, -1);
    return watch;
  }

  /**
   * Resolves when the stores of all watches are at least as new as the start of this call: a list without a version is a
   * consistent read. Rejects when the call is aborted.
   */
  async renew(call: Call): Promise<void> {
    this.#round += 1;
    const round = this.#round;
    const stop = this.#stop;
    this.#stop = new AbortController();
    stop.abort();
    while ([...this.#completed.values()].some((completed) => completed < round)) {
      await orAborted(call, this.#progress.promise);
    }
  }
}
