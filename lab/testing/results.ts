/** What a run of tests found, in a form that rings, labs and files can be added up in. */

export type Verdict = "passed" | "passed on the second try only" | "failed" | "skipped" | "pending";

export interface TestResult {
  /** File and name of the test; stays the same from run to run. */
  readonly name: string;
  readonly verdict: Verdict;
  /** Beginnings of its error messages. */
  readonly reasons: readonly string[];
}

/** Where the time of one test file went. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
  /** CPU time of the test program and of everything it started outside of the lab. */
  readonly testCpuSeconds: number;
  /** CPU time of the lab's programs and containers while the file ran. */
  readonly labCpuSeconds: number;
}

export interface Outcome {
  readonly results: readonly TestResult[];
  readonly files: readonly FileTime[];
}

export function sum(outcomes: readonly Outcome[]): Outcome {
  return {
    results: outcomes.flatMap(({ results }) => results),
    files: outcomes.flatMap(({ files }) => files),
  };
}

export function failure(name: string, ...reasons: readonly string[]): Outcome {
  return { results: [{ name, verdict: "failed", reasons }], files: [] };
}

/** A skipped test proves nothing: it does not pass. */
export function hasPassed({ verdict }: TestResult): boolean {
  return verdict === "passed" || verdict === "passed on the second try only";
}
