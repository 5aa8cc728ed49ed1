/**
 * Whether a Pod that is not in the view is gone or not yet observed. An attachment may name a Pod that has been removed, or a Pod that
 * the former leader observed before this replica does: the watches of attachments and of Pods are independent of each other.
 */
export class PodChanges {
  /** Every Pod that existed at this time, and still exists, is in the view. */
  #syncedAtMs = Infinity;
  #listedAtMs = Infinity;
  /** Ids of Pods that the view had and has no longer, each with the time of its removal. */
  readonly #removed = new Map<string, number>();

  /** A list of all Pods begins. */
  begin(nowMs: number): void {
    this.#listedAtMs = nowMs;
  }

  /** The list that began last is complete. */
  complete(): void {
    this.#syncedAtMs = this.#listedAtMs;
  }

  removed(id: string, nowMs: number): void {
    this.#removed.set(id, nowMs);
    for (const [oldest, atMs] of this.#removed) {
      if (nowMs - atMs < rememberedMs) return;
      this.#removed.delete(oldest);
    }
  }

  /** Whether a Pod that is not in the view, and that an attachment named at this time (in whole seconds), may still appear. */
  mayAppear(id: string, namedAtMs: number): boolean {
    return !this.#removed.has(id) && namedAtMs >= Math.floor(this.#syncedAtMs / 1000) * 1000;
  }
}

/** Longer than an attachment is fresh (contract 1.6). */
const rememberedMs = 600_000;
