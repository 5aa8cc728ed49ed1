/** The end of a run of tests: what somebody has to look at, where the time went, and the line that CI reads. */
import { keepTimes, timeTable } from "./file-times.ts";
import { hasPassed, type Outcome, type TestResult } from "./results.ts";
import { judgedByLastRun } from "./second-tries.ts";

/** Prints findings and, last, the closing line; gives the exit code. A run without a single pass proves nothing. */
export async function conclude({ results, files }: Outcome): Promise<number> {
  const judged = await judgedByLastRun(results);
  await keepTimes(files);
  const findings = judged.filter(({ verdict }) => verdict !== "passed");
  process.stdout.write(`\n${timeTable(files)}`);
  if (findings.length > 0) process.stdout.write(`\n── findings ──\n${findings.map(described).join("\n")}\n`);
  const passed = judged.filter(hasPassed).length;
  const failed = judged.length - passed;
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

function described({ name, verdict, reasons }: TestResult): string {
  return [`${verdict}: ${name}`, ...reasons].join("\n    ");
}
