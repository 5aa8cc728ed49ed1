/** Runs one piece of work per key at a time, in the order of the calls. A failure does not keep the next one from running. */
export class OneAtATime<Key extends string> {
  readonly #last = new Map<Key, Promise<void>>();

  async run<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const done = Promise.withResolvers<void>();
    this.#last.set(key, done.promise);
    try {
      await before;
      return await work();
    } finally {
      if (this.#last.get(key) === done.promise) this.#last.delete(key);
      done.resolve();
    }
  }
}
