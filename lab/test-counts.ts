/** How many checks passed and failed, and the line that says so. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

export function sum(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((total, { passed }) => total + passed, 0),
    failed: all.reduce((total, { failed }) => total + failed, 0),
  };
}

/** Prints the closing line and gives the exit code. A run without a single pass proves nothing. */
export function closingLine({ passed, failed }: Counts): number {
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
