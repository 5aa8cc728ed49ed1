/** Runs one ring of tests with vitest and counts what it says. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isErrno } from "../src/runtime/errno.ts";
import { checkout } from "./images.ts";
import type { Lab } from "./lab.ts";
import { type Counts, sum } from "./test-counts.ts";

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

/** A runner that ends badly without naming a failed test broke outside of any, before its report or after it. */
async function countsIn(report: string, code: number): Promise<Counts> {
  const counts = await written(report);
  if (counts !== undefined && (counts.failed > 0 || code === 0)) return counts;
  const broke = `failed: the test runner ended with code ${code} outside of any test`;
  return sum([counts ?? { passed: 0, failed: 0, findings: [] }, { passed: 0, failed: 1, findings: [broke] }]);
}

async function written(report: string): Promise<Counts | undefined> {
  try {
    return JSON.parse(await readFile(report, "utf8")) as Counts;
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
