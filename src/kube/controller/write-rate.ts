/**
 * How often a key may write. Two clients that undo each other's changes (another replica with an older view, a webhook, a script) answer
 * every write with a write, and each of them succeeds, so that no back-off slows them down.
 */

/** More changes at once than the workloads of one volume on one node cause one by one. */
const burst = 30;
const intervalMs = 1000;

export class WriteRate<Key> {
  /** Key → when its former writes are used up, at one in `intervalMs`; in the order of the last write. */
  readonly #usedUpAtMs = new Map<Key, number>();

  /** The key has written just now. */
  wrote(key: Key): void {
    const nowMs = performance.now();
    const usedUpAtMs = Math.max(this.#usedUpAtMs.get(key) ?? 0, nowMs) + intervalMs;
    this.#usedUpAtMs.delete(key);
    this.#usedUpAtMs.set(key, usedUpAtMs);
    this.#forget(nowMs);
  }

  /** How long the key must not write; 0 or less: it may. */
  waitMs(key: Key): number {
    return (this.#usedUpAtMs.get(key) ?? 0) - burst * intervalMs - performance.now();
  }

  /** Two at each write, so that the map shrinks. */
  #forget(nowMs: number): void {
    let looks = 2;
    for (const [key, atMs] of this.#usedUpAtMs) {
      if (looks === 0 || atMs > nowMs) return;
      looks -= 1;
      this.#usedUpAtMs.delete(key);
    }
  }
}
