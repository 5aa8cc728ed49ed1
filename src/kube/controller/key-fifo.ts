/**
 * Distinct keys, first in, first out. Every operation costs the same at ten and at a million keys: the first element of a Set
 * would not, because a Set keeps the holes of deleted elements for a while, and its iterator walks over them.
 */
export class KeyFifo<Key extends string> {
  /** Key → when it was pushed. */
  readonly #members = new Map<Key, number>();
  /** Every member, and keys that were deleted and have not come to the front yet. */
  #order: Key[] = [];
  #front = 0;

  get size(): number {
    return this.#members.size;
  }

  has(key: Key): boolean {
    return this.#members.has(key);
  }

  /** A key that is a member keeps its position. */
  push(key: Key): void {
    if (this.#members.has(key)) return;
    this.#members.set(key, performance.now());
    this.#order.push(key);
  }

  /** For how long the first key has been a member; 0 without one. */
  get oldestMs(): number {
    while (this.#front < this.#order.length) {
      const pushedAtMs = this.#members.get(this.#order[this.#front] as Key);
      if (pushedAtMs !== undefined) return performance.now() - pushedAtMs;
      this.#front += 1;
    }
    return 0;
  }

  delete(key: Key): void {
    this.#members.delete(key);
  }

  /** Removes the first key. */
  shift(): Key | undefined {
    while (this.#front < this.#order.length) {
      const key = this.#order[this.#front] as Key;
      this.#front += 1;
      this.#dropTaken();
      if (this.#members.delete(key)) return key;
    }
    return undefined;
  }

  /** Copies at most as many keys as were taken since the last copy. */
  #dropTaken(): void {
    if (this.#front < 1024 || this.#front < this.#order.length / 2) return;
    this.#order = this.#order.slice(this.#front);
    this.#front = 0;
  }
}
