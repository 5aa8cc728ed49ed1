/** Long waits and large counts: small in `./dev test`, at full size in `./dev test long`. */

const isFull = process.env["TEST_SCALE"] === "full";

/** `./dev test` finds these calls in the sources and prints them: write the text and both sizes in place. */
export function scaled(_what: string, here: number, full: number): number {
  return isFull ? full : here;
}
