/** Long work in small pieces, between which the event loop serves timers and sockets (SC-5). */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Several loops may work in the same turn, and no turn may last for 50 ms. */
const defaultLimitMs = 5;

export class TurnLimit {
  readonly #limitMs: number;
  /** When this work last knew that a turn began. An earlier time than the true one costs an unneeded pause, and nothing else. */
  #beganMs = performance.now();

  constructor(limitMs = defaultLimitMs) {
    this.#limitMs = limitMs;
  }

  /** To be called between two pieces. Resolves at once, or in the next turn if the work has lasted for longer than the limit. */
  async pause(): Promise<void> {
    if (performance.now() - this.#beganMs < this.#limitMs) return;
    await nextTurn();
    this.#beganMs = performance.now();
  }
}
