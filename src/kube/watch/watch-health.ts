/** Which watches are interrupted, and since when. Their stores are out of date, and a restart would not make them newer. */

/** Watches recover within seconds after a restart of the API server; that is no reason to become unready. */
const patienceMs = 60_000;

export class WatchHealth {
  readonly #interruptedSinceMs = new Map<string, number>();

  /** The caller calls the result for every event and failure of the watch: true if the watch follows the server. */
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
