/**
 * Limits how often a key is processed with a write. Two clients that undo each other's changes (another replica with an older view, a webhook, a
 * script) answer every write with a write, and each of them succeeds, so that no back-off slows them down.
 */

/** Half of the Pods that a node takes by default. After them, one write in a second covers all workloads that came in that second. */
const burst = 60;
const intervalMs = 1000;

export class KeyRateLimiter<Key> {
  /** Key → when its bucket of tokens is full again, in the order of the last write. */
  readonly #fullAtMs = new Map<Key, number>();

  /** Takes one token. The key has written just now. */
  take(key: Key): void {
    const nowMs = performance.now();
    const fullAtMs = Math.max(this.#fullAtMs.get(key) ?? 0, nowMs) + intervalMs;
    this.#fullAtMs.delete(key);
    this.#fullAtMs.set(key, fullAtMs);
    this.#forget(nowMs);
  }

  /** How long the key must wait for its next token; 0 or less: it has one. */
  waitMs(key: Key): number {
    return (this.#fullAtMs.get(key) ?? 0) - burst * intervalMs - performance.now();
  }

  /** Each write adds one key at most and looks at two old ones, so the map shrinks when fewer keys write. */
  #forget(nowMs: number): void {
    let looks = 2;
    for (const [key, atMs] of this.#fullAtMs) {
      if (looks === 0 || atMs > nowMs) return;
      looks -= 1;
      this.#fullAtMs.delete(key);
    }
  }
}
