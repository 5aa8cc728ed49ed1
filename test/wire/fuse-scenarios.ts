/** Runs scenarios of test/fixtures with real FUSE mounts, each in a process and a mount namespace of its own. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { compileFixture } from "./fixture-programs.ts";

const run = promisify(execFile);

/** What a scenario observed. The mount namespace takes every mount along when the scenario ends. */
export type Observe = (scenario: string, env?: NodeJS.ProcessEnv) => Promise<unknown>;

/** For the file of tests that calls it. */
export function scenariosOf(family: "mount" | "swap" | "publish" | "end" | "container"): Observe {
  const program = fileURLToPath(new URL(`../fixtures/${family}-scenarios.ts`, import.meta.url));
  let root: string;
  beforeAll(() => {
    buildNative();
    root = mkdtempSync(join(tmpdir(), "fuse-"));
    compileFixture("mount-s3", root);
    compileFixture("exchange", root);
  });
  afterAll(() => rmSync(root, { recursive: true }));
  return async (scenario, env = {}) => {
    const argv = ["--mount", "--propagation=private", process.execPath, program, scenario, root];
    const { stdout } = await run("unshare", argv, { env: { ...process.env, ...env } });
    return JSON.parse(stdout);
  };
}
