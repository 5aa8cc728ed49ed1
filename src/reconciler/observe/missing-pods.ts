/** SC-7. Lists all Pods again when the view lacks Pods that attachments name, so that it can tell whether they are gone. */
import { kinds } from "../../kube/kinds.ts";
import type { Freshness } from "../../kube/watch/freshness.ts";
import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { TurnLimit } from "../../runtime/turn-limit.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { listAnew } from "./list-anew.ts";

/** A watch that is a little late catches up within this time, and a list is not needed. */
const graceMs = 2000;
/** A list of all Pods is the most expensive request of the reconciler: at most two in a minute. */
const pauseMs = 30_000;

export interface MissingPodsOptions {
  readonly freshness: Pick<Freshness, "renew">;
  /** Whether an attachment of this volume on this node still names a Pod that is not yet observed. */
  readonly isMissing: (key: VolumeOnNodeKey) => boolean;
  readonly queue: { add(key: VolumeOnNodeKey): void };
}

export class MissingPods {
  readonly #keys = new Set<VolumeOnNodeKey>();
  #added = Promise.withResolvers<void>();

  /** An attachment of this volume on this node names a Pod that is not yet observed. */
  add(key: VolumeOnNodeKey): void {
    this.#keys.add(key);
    this.#added.resolve();
  }

  /** Ends when the call does. Queues the keys again after a list: what it lacks is gone. */
  async search(call: Call, { freshness, isMissing, queue }: MissingPodsOptions): Promise<void> {
    try {
      while (!call.signal.aborted) {
        await orAborted(call, this.#added.promise);
        await elapsed(call, graceMs);
        const turn = new TurnLimit();
        const keys: VolumeOnNodeKey[] = [];
        for (const key of this.#take()) {
          // The Pods of others arrived, or are gone by now: no change of a Pod may have queued them.
          if (isMissing(key)) keys.push(key);
          else queue.add(key);
          await turn.pause();
        }
        if (keys.length === 0) continue;
        call.log.info("attachments name Pods that are not yet observed: listing anew", { volumesOnNodes: keys.length });
        await listAnew(call, freshness, (kind) => kind === kinds.pods.plural);
        for (const key of keys) {
          queue.add(key);
          await turn.pause();
        }
        await elapsed(call, pauseMs);
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
  }

  #take(): readonly VolumeOnNodeKey[] {
    const keys = [...this.#keys];
    this.#keys.clear();
    this.#added = Promise.withResolvers();
    return keys;
  }
}
