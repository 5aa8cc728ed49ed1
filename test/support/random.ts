/** A whole number from 0 on, below the limit. */
export function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

/** One of them; undefined if there is none. */
export function oneOf<Thing>(things: readonly Thing[]): Thing | undefined {
  return things[below(things.length)];
}
