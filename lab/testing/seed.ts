/** One seed for everything that a run leaves to chance, so that the run can be repeated with it. */
import { randomInt } from "node:crypto";
import { Problem } from "../problem.ts";

/** fast-check's seeds are 32 bits wide, and so are ours. */
const limit = 2 ** 31;

export function seedFrom(given: string | undefined): number {
  if (given === undefined) return randomInt(limit);
  const seed = Number(given);
  if (Number.isInteger(seed) && seed >= 0 && seed < limit) return seed;
  throw new Problem(`--seed ${given} is not a seed`, `use the number that a run printed, from 0 to ${limit - 1}`);
}
