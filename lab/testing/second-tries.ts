/**
 * Tests that needed their second try, remembered from run to run. Once may be the machine; twice in a row is a defect of
 * the test or of what it tests, and fails the run.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno } from "../../src/runtime/errno.ts";
import { cacheDirectory } from "../cache.ts";
import type { TestResult } from "./results.ts";

export interface Judged {
  readonly results: readonly TestResult[];
  /** What the next run compares with. */
  readonly remembered: readonly string[];
}

/** A test that did not run, or failed, keeps what was remembered of it: only a pass at the first try is forgiven. */
export function judgeSecondTries(results: readonly TestResult[], before: readonly string[]): Judged {
  const known = new Set(before);
  const needed = results.filter(isSecondTry).map(({ name }) => name);
  const forgiven = new Set(results.filter(({ verdict }) => verdict === "passed").map(({ name }) => name));
  return {
    results: results.map((result) => (isSecondTry(result) && known.has(result.name) ? asFailure(result) : result)),
    remembered: [...new Set([...before.filter((name) => !forgiven.has(name)), ...needed])].toSorted(),
  };
}

function isSecondTry({ verdict }: TestResult): boolean {
  return verdict === "passed on the second try only";
}

function asFailure({ name, reasons }: TestResult): TestResult {
  return { name, verdict: "failed", reasons: ["passed on the second try only, as in the run before", ...reasons] };
}

const file = () => join(cacheDirectory(), "second-tries.json");

/** Judges by the run before, and remembers this one. */
export async function judgedByLastRun(results: readonly TestResult[]): Promise<readonly TestResult[]> {
  const judged = judgeSecondTries(results, await read());
  await mkdir(dirname(file()), { recursive: true });
  const written = `${file()}.${process.pid}`;
  await writeFile(written, JSON.stringify(judged.remembered));
  await rename(written, file());
  return judged.results;
}

async function read(): Promise<readonly string[]> {
  try {
    return JSON.parse(await readFile(file(), "utf8")) as string[];
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return [];
    throw error;
  }
}
