/** Runs one ring of tests with vitest and counts what it says. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isErrno } from "../src/runtime/errno.ts";
import { checkout } from "./images.ts";
import type { Lab } from "./lab.ts";
import type { Counts } from "./test-counts.ts";

export interface Ring {
  readonly project: string;
  /** Tests of this ring run with the lab's network; they open the lab by its name. */
  readonly lab?: Lab;
  readonly env?: NodeJS.ProcessEnv;
  /** Further arguments for vitest, such as a file or `-t NAME`. */
  readonly args?: readonly string[];
}

export async function runRing(signal: AbortSignal, ring: Ring): Promise<Counts> {
  process.stdout.write(`\n── ${ring.project} ──\n`);
  const directory = await mkdtemp(join(tmpdir(), "s3-csi-test-"));
  try {
    const report = join(directory, "report.json");
    const vitest = ["vitest", "run", "--project", ring.project, ...(ring.args ?? [])];
    const code = await live(signal, ring.lab?.inNetwork(vitest) ?? vitest, {
      ...process.env,
      ...ring.env,
      TEST_REPORT: report,
      ...(ring.lab === undefined ? {} : { LAB_NAME: ring.lab.spec.name, KUBECONFIG: ring.lab.layout.kubeconfig }),
    });
    return await countsIn(report, code);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function live(
  signal: AbortSignal,
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"], cwd: checkout, env, signal });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  });
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

/** A skipped test counts as failed, and so does a run that broke outside of any test. */
async function countsIn(report: string, code: number): Promise<Counts> {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(await readFile(report, "utf8")) as Report;
    const failed = numFailedTests + numPendingTests;
    return { passed: numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return { passed: 0, failed: 1 };
    throw error;
  }
}
