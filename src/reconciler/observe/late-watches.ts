/** SC-7. Lists anew the objects of a watch that has not shown an accepted change, and on which the server sends nothing. */
import type { Freshness } from "../../kube/watch/freshness.ts";
import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { listAnew } from "./list-anew.ts";

/** A list of all Pods is the most expensive request of the reconciler: at most two in a minute. */
const pauseMs = 30_000;

export class LateWatches {
  readonly #expectedSince = new Map<string, number>();
  #added = Promise.withResolvers<void>();

  /** The API server accepted a change of this kind before `sinceMs`, a moment of `performance.now()`, and its watch has not shown it. */
  add(kind: string, sinceMs: number): void {
    this.#expectedSince.set(kind, sinceMs);
    this.#added.resolve();
  }

  /** Ends when the call does. A watch that delivers is left alone: it is behind, and a list would make it wait longer. */
  async renew(call: Call, freshness: Pick<Freshness, "renew" | "isSilentSince">): Promise<void> {
    try {
      while (!call.signal.aborted) {
        await orAborted(call, this.#added.promise);
        const silent = this.#take().filter(([kind, sinceMs]) => freshness.isSilentSince(kind, sinceMs));
        if (silent.length === 0) continue;
        const late = new Set(silent.map(([kind]) => kind));
        call.log.info("a watch has not shown a change in time: listing anew", { kinds: [...late] });
        await listAnew(call, freshness, (kind) => late.has(kind));
        await elapsed(call, pauseMs);
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
  }

  #take(): readonly (readonly [string, number])[] {
    const late = [...this.#expectedSince];
    this.#expectedSince.clear();
    this.#added = Promise.withResolvers();
    return late;
  }
}
