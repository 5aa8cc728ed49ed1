import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { scaled } from "../support/scale.ts";

const run = promisify(execFile);
const program = fileURLToPath(new URL("../fixtures/failing-mounts.ts", import.meta.url));
const count = scaled("failed mounts", 100, 1000);
const mebibyte = 2 ** 20;
let directory: string;

beforeAll(() => {
  buildNative();
  // A file system in memory that is there on every Linux, as the volume of a Mountpoint Pod is.
  directory = mkdtempSync("/dev/shm/failed-mounts-");
});

afterAll(() => rmSync(directory, { recursive: true }));

interface Observed {
  readonly failures: readonly string[];
  readonly before: object;
  readonly after: object;
  readonly grown: { readonly heapBytes: number };
  readonly rss: number;
}

it("MP-11 failed mounts with error files of 100 MB return one line each, and leak no memory, thread, descriptor or mount", async () => {
  const argv = ["--mount", "--propagation=private", process.execPath, program, directory, String(count)];
  const { failures, before, after, grown, rss } = JSON.parse((await run("unshare", argv)).stdout) as Observed;
  expect(failures).toEqual(["Error: the bucket does not exist"]);
  expect(after).toEqual(before);
  // Memory of the runtime does not grow with the number of mounts; leaked error files would.
  expect(grown.heapBytes).toBeLessThan(1.5 * mebibyte);
  expect(rss).toBeLessThan(180 * mebibyte);
}, 300_000);
