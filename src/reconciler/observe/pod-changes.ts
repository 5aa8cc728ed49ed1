/**
 * What is known of Pods that are not in the picture. An attachment may name one that has gone, or one of which the former
 * leader heard before we did: watches of different kinds know nothing of each other.
 */
export class PodChanges {
  /** Whatever was there at this moment, and still is, is in the picture. */
  #completeSinceMs = Infinity;
  #begunAtMs = Infinity;
  /** What was in the picture and has left it, by its id, and when. */
  readonly #gone = new Map<string, number>();

  /** A picture of all Pods is asked for. */
  begin(nowMs: number): void {
    this.#begunAtMs = nowMs;
  }

  complete(): void {
    this.#completeSinceMs = this.#begunAtMs;
  }

  left(id: string, nowMs: number): void {
    this.#gone.set(id, nowMs);
    for (const [oldest, atMs] of this.#gone) {
      if (nowMs - atMs < rememberedMs) return;
      this.#gone.delete(oldest);
    }
  }

  /** Of something that is not in the picture and was named at this time, in whole seconds: whether it may yet appear. */
  mayAppear(id: string, namedAtMs: number): boolean {
    return !this.#gone.has(id) && namedAtMs >= Math.floor(this.#completeSinceMs / 1000) * 1000;
  }
}

/** Longer than anybody waits for news. */
const rememberedMs = 600_000;
