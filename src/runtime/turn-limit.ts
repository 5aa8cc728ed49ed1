/** Long work in small pieces, between which the event loop serves timers and sockets (SC-5). */

/** Several loops may work in the same turn, and no turn may last for 50 ms. */
const defaultLimitMs = 5;

/** Callers that share one limit share the time of a turn, however many they are. */
export class TurnLimit {
  readonly #limitMs: number;
  /** When this work last knew that a turn began. An earlier time than the true one costs an unneeded pause, and nothing else. */
  #beganMs = performance.now();
  /** Callers in a pause, the one that has waited longest first. */
  readonly #waiting: (() => void)[] = [];

  constructor(limitMs = defaultLimitMs) {
    this.#limitMs = limitMs;
  }

  /**
   * To be called between two pieces. Resolves at once, or in a later turn if the work of all callers has lasted for longer than the limit.
   *
   * Every turn ends one pause, and that caller may use the whole time of the turn. Node runs all callbacks of setImmediate in one turn, so
   * callers with a setImmediate each would all go on in the same turn.
   */
  async pause(): Promise<void> {
    if (performance.now() - this.#beganMs < this.#limitMs) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (this.#waiting.length === 1) this.#wakeInNextTurn();
    await promise;
  }

  #wakeInNextTurn(): void {
    setImmediate(() => {
      this.#beganMs = performance.now();
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#wakeInNextTurn();
    });
  }
}
