import { parseArguments } from "../arguments.ts";
import { progressOn } from "../progress.ts";
import { runRing } from "../rings.ts";
import { staticChecks } from "../static-checks.ts";
import { closingLine, sum } from "../test-counts.ts";

/** Everything that needs no lab, quickly. */
export async function check(signal: AbortSignal, args: readonly string[]): Promise<number> {
  parseArguments(args, []);
  const progress = progressOn(process.stderr);
  const counts = [await staticChecks(signal, progress), await runRing(signal, { project: "unit" })];
  return closingLine(sum(counts));
}
