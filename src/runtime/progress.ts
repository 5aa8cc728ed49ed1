/** Whether the loops of a program still run. A loop that retries, because a server does not answer, makes progress. */

/** Far above the longest step of a loop: requests and waits have limits of a minute or two. */
const defaultLimitMs = 10 * 60_000;

/** The part that a loop needs to report its progress. */
export type Pulses = Pick<Progress, "pulse">;

export type Pulse = (() => void) & Disposable;

export class Progress {
  readonly #limitMs: number;
  readonly #loops = new Map<string, { readonly stalledMs: () => number; readonly limitMs: number }>();

  constructor(limitMs = defaultLimitMs) {
    this.#limitMs = limitMs;
  }

  /** Watches a loop until the result is disposed of. `stalledMs` answers for how long the loop has made no progress. */
  follow(loop: string, stalledMs: () => number, limitMs = this.#limitMs): Disposable {
    this.#loops.set(loop, { stalledMs, limitMs });
    return { [Symbol.dispose]: () => this.#loops.delete(loop) };
  }

  /**
   * For a loop that cannot measure its progress: it must call the result in every iteration. A loop that ends before its program does must
   * dispose of the result.
   */
  pulse(loop: string): Pulse {
    let turnedAtMs = performance.now();
    const following = this.follow(loop, () => performance.now() - turnedAtMs);
    const turned = () => {
      turnedAtMs = performance.now();
    };
    return Object.assign(turned, { [Symbol.dispose]: () => following[Symbol.dispose]() });
  }

  /** For metrics: how long each loop has made no progress, and how long it may. */
  stalls(): readonly { readonly loop: string; readonly seconds: number; readonly limitSeconds: number }[] {
    return [...this.#loops].map(([loop, { stalledMs, limitMs }]) => ({
      loop,
      seconds: stalledMs() / 1000,
      limitSeconds: limitMs / 1000,
    }));
  }

  /** Not ready if a loop has made no progress for longer than its limit: kubelet then restarts the container. */
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
