import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../fixtures/tmpfs-unmounted.ts", import.meta.url));
let onDisk: string;

beforeAll(() => {
  buildNative();
  // The checkout is on a disk; the directory for temporary files may be a tmpfs.
  onDisk = mkdtempSync(join(import.meta.dirname, "tmpfs-storage-"));
});

afterAll(() => rmSync(onDisk, { recursive: true }));

it("SE-4 mount records are stored on a tmpfs only, and not at all after the tmpfs is unmounted", async () => {
  const argv = ["--mount", "--propagation=private", process.execPath, program, onDisk];
  expect(JSON.parse((await run("unshare", argv)).stdout)).toEqual({
    kept: [["mp-1", "with new keys"]],
    loggedBefore: 0,
    onDisk: [],
    logged: ["a mount record could not be stored"],
  });
});
