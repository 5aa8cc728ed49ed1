/** Runs tests of one ring with vitest and reads its report. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { isErrno } from "../../src/runtime/errno.ts";
import { checkout } from "../images.ts";
import type { Lab } from "../lab.ts";
import { failure, hasPassed, type Outcome, sum } from "./results.ts";

export interface VitestRun {
  readonly project: string;
  /** Files or parts of their names, and further arguments for vitest such as `-t NAME`. */
  readonly args?: readonly string[];
  /** Tests of this ring run with the lab's network; they open the lab by its name. */
  readonly lab?: Lab;
  readonly env?: NodeJS.ProcessEnv;
}

export interface Finished {
  readonly outcome: Outcome;
  /** What vitest printed; empty if it printed to our own output. */
  readonly output: string;
}

/** Prints as it goes, for one who watches. */
export async function watchVitest(signal: AbortSignal, run: VitestRun): Promise<Outcome> {
  process.stdout.write(`\n── ${run.project} ──\n`);
  return (await runVitest(signal, run, "inherit")).outcome;
}

/** Keeps the output, for runs of several files at the same time. */
export function captureVitest(signal: AbortSignal, run: VitestRun): Promise<Finished> {
  return runVitest(signal, run, "pipe");
}

async function runVitest(signal: AbortSignal, run: VitestRun, output: "inherit" | "pipe"): Promise<Finished> {
  const directory = await mkdtemp(join(tmpdir(), "s3-csi-test-"));
  try {
    const report = join(directory, "report.json");
    const vitest = ["vitest", "run", "--project", run.project, ...(run.args ?? [])];
    const env = {
      ...process.env,
      ...run.env,
      TEST_REPORT: report,
      ...(run.lab === undefined ? {} : { LAB_NAME: run.lab.spec.name, KUBECONFIG: run.lab.layout.kubeconfig }),
    };
    const { code, printed } = await program(signal, run.lab?.inNetwork(vitest) ?? vitest, { env, output });
    return { outcome: await outcomeIn(report, code, run), output: printed };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function program(
  signal: AbortSignal,
  [name = "", ...args]: readonly string[],
  { env, output }: { readonly env: NodeJS.ProcessEnv; readonly output: "inherit" | "pipe" },
): Promise<{ readonly code: number; readonly printed: string }> {
  const child = spawn(name, args, { stdio: ["ignore", output, output], cwd: checkout, env, signal });
  const ended = new Promise<number>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  });
  const streams = [child.stdout, child.stderr].filter((stream): stream is Readable => stream !== null);
  const [code, ...printed] = await Promise.all([ended, ...streams.map((stream) => text(stream))]);
  return { code, printed: printed.join("") };
}

/** A runner that ends badly without naming a failed test broke outside of any, before its report or after it. */
async function outcomeIn(report: string, code: number, { project, args = [] }: VitestRun): Promise<Outcome> {
  const outcome = await written(report);
  if (outcome !== undefined && (code === 0 || !outcome.results.every(hasPassed))) return outcome;
  const where = [project, ...args].join(" ");
  const broke = failure(where, `the test runner exited with code ${code} outside of any test`);
  return sum([outcome ?? { results: [], files: [] }, broke]);
}

async function written(report: string): Promise<Outcome | undefined> {
  try {
    return JSON.parse(await readFile(report, "utf8")) as Outcome;
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
