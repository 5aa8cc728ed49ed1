/**
 * Value → keys of the objects with this value. Most values of a large index have one object: such a key is held without a set around
 * it, which is a quarter of the memory.
 */
export class KeyIndex {
  readonly #keys = new Map<string, string | Set<string>>();

  add(value: string, key: string): void {
    const known = this.#keys.get(value);
    if (known === undefined) this.#keys.set(value, key);
    else if (typeof known !== "string") known.add(key);
    else if (known !== key) this.#keys.set(value, new Set([known, key]));
  }

  remove(value: string, key: string): void {
    const known = this.#keys.get(value);
    if (known === key) this.#keys.delete(value);
    else if (known !== undefined && typeof known !== "string") {
      known.delete(key);
      if (known.size === 0) this.#keys.delete(value);
    }
  }

  /** In the order in which they were added. */
  keys(value: string): Iterable<string> {
    const known = this.#keys.get(value);
    if (known === undefined) return [];
    return typeof known === "string" ? [known] : known;
  }

  count(value: string): number {
    const known = this.#keys.get(value);
    if (known === undefined) return 0;
    return typeof known === "string" ? 1 : known.size;
  }
}
