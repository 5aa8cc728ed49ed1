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
   * A turn ends pauses one after the other, each when the work of the one before has come to its end or waits for something, for as long as
   * the limit allows. Node runs all callbacks of setImmediate in one turn, so callers with a setImmediate each would all go on in the same turn.
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
      this.#wakeNext();
    });
  }

  #wakeNext(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) afterMicrotasks(() => this.#wakeAnother());
  }

  #wakeAnother(): void {
    if (performance.now() - this.#beganMs < this.#limitMs) this.#wakeNext();
    else this.#wakeInNextTurn();
  }
}

/** Node runs a tick that a microtask asks for when no microtask is left: whoever was woken before has then worked and waits again. */
function afterMicrotasks(work: () => void): void {
  queueMicrotask(() => process.nextTick(work));
}
