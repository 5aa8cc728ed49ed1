/** Chance of the simulation. Each stream of numbers has a name, so that a change in one part of a story does not move the others. */

export class Chance {
  readonly #seed: number;
  readonly #states = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 to below 1. */
  next(stream: string): number {
    const state = ((this.#states.get(stream) ?? this.#first(stream)) + 0x6d2b79f5) >>> 0;
    this.#states.set(stream, state);
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  between(stream: string, from: number, to: number): number {
    return from + this.next(stream) * (to - from);
  }

  /** True with this probability. */
  happens(stream: string, probability: number): boolean {
    return this.next(stream) < probability;
  }

  /** FNV-1a. */
  #first(stream: string): number {
    let hash = 0x811c9dc5 ^ this.#seed;
    for (let index = 0; index < stream.length; index++) {
      hash = Math.imul(hash ^ stream.charCodeAt(index), 0x01000193);
    }
    return hash >>> 0;
  }
}
