/** Which watches are interrupted, and since when. What is known is then old; a restart would not make it newer. */

/** Watches are restored within seconds when an API server restarts, and that is no reason to alarm anybody. */
const patienceMs = 60_000;

export class WatchHealth {
  readonly #interruptedSinceMs = new Map<string, number>();

  /** To be told at every turn of a watch whether it follows the server or has lost it. */
  of(watch: string): (follows: boolean) => void {
    return (follows) => {
      if (follows) this.#interruptedSinceMs.delete(watch);
      else if (!this.#interruptedSinceMs.has(watch)) this.#interruptedSinceMs.set(watch, performance.now());
    };
  }

  readonly readiness = (): { readonly ready: true } | { readonly ready: false; readonly because: string } => {
    for (const [watch, sinceMs] of this.#interruptedSinceMs) {
      const seconds = Math.floor((performance.now() - sinceMs) / 1000);
      if (seconds * 1000 >= patienceMs) return { ready: false, because: `${watch}: interrupted for ${seconds} s` };
    }
    return { ready: true };
  };
}
