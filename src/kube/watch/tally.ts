import type { Store } from "./store.ts";

/**
 * SC-5. Adds up amounts over all objects of a store. Every change of an object changes the sums, so that reading them costs the same at ten
 * and at a million objects.
 */
export class Tally<Kept, Name extends string> {
  readonly #sums: Record<Name, number>;

  /** `zeros` names every sum. `amountsOf` must return the same for the same object. The tally lives as long as the store. */
  constructor(
    store: Pick<Store<Kept>, "values" | "subscribe">,
    zeros: Readonly<Record<Name, 0>>,
    amountsOf: (kept: Kept) => Readonly<Partial<Record<Name, number>>>,
  ) {
    this.#sums = { ...zeros };
    const add = (kept: Kept | undefined, sign: 1 | -1) => {
      if (kept === undefined) return;
      for (const [name, amount] of Object.entries<number>(amountsOf(kept) as Record<Name, number>)) {
        this.#sums[name as Name] += sign * amount;
      }
    };
    for (const kept of store.values()) add(kept, 1);
    store.subscribe(({ before, after }) => {
      add(before, -1);
      add(after, 1);
    });
  }

  get sums(): Readonly<Record<Name, number>> {
    return this.#sums;
  }
}
