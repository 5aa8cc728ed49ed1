/**
 * SC-7. Whether a Pod that is not in the view is gone or not yet observed. An attachment may name a Pod that has been removed, or a Pod
 * that another replica observed before this one does: the watches of attachments and of Pods are independent of each other, and
 * there is no limit to how late one of them is. All moments are those of `performance.now()`: wall clocks of replicas differ.
 */
export class PodChanges {
  /** Every Pod that existed at this time, and still exists, is in the view. */
  #syncedAtMs = -Infinity;
  #askedAtMs = -Infinity;
  /** Ids of Pods that the view had and has no longer, each with the time of its removal. */
  readonly #removed = new Map<string, number>();

  /** A list of all Pods begins, which was requested at this time. */
  begin(askedAtMs: number): void {
    this.#askedAtMs = askedAtMs;
  }

  /** The list that began last is complete. */
  complete(): void {
    this.#syncedAtMs = this.#askedAtMs;
  }

  removed(id: string, nowMs: number): void {
    this.#removed.set(id, nowMs);
    for (const [oldest, atMs] of this.#removed) {
      if (nowMs - atMs < rememberedMs) return;
      this.#removed.delete(oldest);
    }
  }

  /**
   * Whether a Pod that is not in the view is gone. It existed when it was named, so before the view had the attachment that names it:
   * it is gone if the view has seen its removal, or if a list of Pods that was requested after that does not have it.
   */
  isGone(id: string, namedAtMs: number): boolean {
    return this.#removed.has(id) || namedAtMs < this.#syncedAtMs;
  }
}

/** A removal is usually acted on within seconds. After this time a list proves it again. */
const rememberedMs = 600_000;
