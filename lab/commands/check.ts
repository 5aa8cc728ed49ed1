import { parseArguments } from "../arguments.ts";
import { progressOn } from "../progress.ts";
import { staticChecks } from "../static-checks.ts";
import { sum } from "../testing/results.ts";
import { conclude } from "../testing/summary.ts";
import { watchVitest } from "../testing/vitest.ts";

/** Everything that needs no lab, quickly. */
export async function check(signal: AbortSignal, args: readonly string[]): Promise<number> {
  parseArguments(args, []);
  const progress = progressOn(process.stderr);
  // The simulation alone takes as long as all other unit tests.
  const unit = { project: "unit", args: ["--exclude", "test/simulation/**"] };
  const outcomes = [await staticChecks(signal, progress), await watchVitest(signal, unit)];
  return await conclude(sum(outcomes));
}
