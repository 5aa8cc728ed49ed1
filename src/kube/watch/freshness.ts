/** Makes watches read everything anew, and tells when all of them have. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../or-aborted.ts";

/** What one watch does for it. */
export interface WatchFreshness {
  /** Aborted when the watch is to drop its connection and list again; asked for at every attempt. */
  signal(): AbortSignal;
  /** The watch begins to read everything, in a request that it sent after the last abort. */
  begun(): void;
  /** What was begun last is in the store. */
  completed(): void;
}

/**
 * A watch may stand still without an error: a proxy or a server holds the connection, and bookmarks of another watch say nothing
 * of it. Nobody notices before the limit of silence, so a store may be minutes old while another one is not.
 */
export class Freshness {
  readonly #completed = new Map<WatchFreshness, number>();
  #round = 0;
  #stop = new AbortController();
  #progress = Promise.withResolvers<void>();

  /** For one more watch, before it begins. */
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
   * Resolves when the stores of all watches are not older than this moment: a list without a version is a consistent read.
   * Rejects when the call ends.
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
