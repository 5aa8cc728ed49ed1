/** How many checks passed and failed, and the line that says so. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** What somebody has to look at: failed tests, and those that needed a second try, each with its reason. */
  readonly findings: readonly string[];
}

export function sum(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((total, { passed }) => total + passed, 0),
    failed: all.reduce((total, { failed }) => total + failed, 0),
    findings: all.flatMap(({ findings }) => findings),
  };
}

/** Prints the findings and, last, the closing line, and gives the exit code. A run without a single pass proves nothing. */
export function closingLine({ passed, failed, findings }: Counts): number {
  if (findings.length > 0) process.stdout.write(`\n── findings ──\n${findings.join("\n")}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
