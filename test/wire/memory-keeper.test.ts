import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../fixtures/memory-taken-away.ts", import.meta.url));
let onDisk: string;

beforeAll(() => {
  buildNative();
  // The checkout, in contrast to the directory for temporary files, is in memory nowhere.
  onDisk = mkdtempSync(join(import.meta.dirname, "memory-keeper-"));
});

afterAll(() => rmSync(onDisk, { recursive: true }));

it("SE-4 what a mount needs is kept in memory, and not at all once somebody has unmounted the place", async () => {
  const argv = ["--mount", "--propagation=private", process.execPath, program, onDisk];
  expect(JSON.parse((await run("unshare", argv)).stdout)).toEqual({
    kept: [["mp-1", "with new keys"]],
    toldBefore: 0,
    onDisk: [],
    told: ["what a mount needs could not be kept"],
  });
});
