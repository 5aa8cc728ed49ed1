/** Long waits and large counts: small in `./dev test`, at full size in `./dev test long`. */

const isFull = process.env["TEST_SCALE"] === "full";

/** `./dev test` finds these calls in the sources and prints them: write the text and both sizes in place. */
export function scaled(_what: string, here: number, full: number): number {
  return isFull ? full : here;
}

/**
 * For stories so varied that a fresh seed meets a new one: `./dev test` plays the same in every run, so that it fails for what has changed, and
 * `./dev test long` plays others each time.
 */
export function seededUnlessFull(seed: number): { readonly seed?: number } {
  return isFull ? {} : { seed };
}
