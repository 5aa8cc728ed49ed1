/** Chance in tests: one seed per run, which `./dev test` prints and `./dev test --seed N` repeats. */
import { randomInt } from "node:crypto";

/** vitest alone has no seed to repeat: then every file takes its own. */
export const seed = Number(process.env["TEST_SEED"] ?? randomInt(2 ** 31));

let state = seed >>> 0;

/** A number from 0 to below 1. mulberry32: a small generator whose whole state is the last number. */
function next(): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let bits = Math.imul(state ^ (state >>> 15), state | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
}

/** An integer ≥ 0, below the limit. */
export function below(limit: number): number {
  return Math.floor(next() * limit);
}

/** One of them; undefined if there is none. */
export function oneOf<Thing>(things: readonly Thing[]): Thing | undefined {
  return things[below(things.length)];
}
