/** Whether the loops of a program still turn. Troubles that they meet and overcome, such as a server that is away, are progress. */

/** Far above what a loop spends on anything: requests and waits have limits of a minute or two. */
const defaultLimitMs = 10 * 60_000;

/** What a loop needs that is to be followed. */
export type Pulses = Pick<Progress, "pulse">;

export class Progress {
  readonly #limitMs: number;
  readonly #loops = new Map<string, { readonly stalledMs: () => number; readonly limitMs: number }>();

  constructor(limitMs = defaultLimitMs) {
    this.#limitMs = limitMs;
  }

  /** From now on, until it is disposed of. `stalledMs`: for how long it has been standing still. */
  follow(loop: string, stalledMs: () => number, limitMs = this.#limitMs): Disposable {
    this.#loops.set(loop, { stalledMs, limitMs });
    return { [Symbol.dispose]: () => this.#loops.delete(loop) };
  }

  /** For a loop without a measure of its own: it says at every turn that it turns. */
  pulse(loop: string): () => void {
    let turnedAtMs = performance.now();
    this.follow(loop, () => performance.now() - turnedAtMs);
    return () => {
      turnedAtMs = performance.now();
    };
  }

  /** A restart is the remedy for a loop that stands still, and for nothing else. */
  readonly liveness = (): { readonly ready: true } | { readonly ready: false; readonly because: string } => {
    for (const [loop, { stalledMs, limitMs }] of this.#loops) {
      const ms = stalledMs();
      if (ms > limitMs) {
        return { ready: false, because: `${loop}: nothing has moved for ${Math.floor(ms / 1000)} s` };
      }
    }
    return { ready: true };
  };
}
