/** Chance that can be repeated: the same seed gives the same numbers. */
export interface Random {
  /** A whole number from 0 on, below the limit. */
  below(limit: number): number;
  /** One of them; undefined if there is none. */
  oneOf<Thing>(things: readonly Thing[]): Thing | undefined;
}

/** The generator of Numerical Recipes; its upper bits are good enough to choose with. */
export function randomFrom(seed: number): Random {
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return { below, oneOf: (things) => things[below(things.length)] };
}
