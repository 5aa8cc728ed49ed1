import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFile } from "./lock-file.ts";

let directory: string;
let path: string;
const never = new AbortController().signal;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "s3-csi-lock-"));
  path = join(directory, "lock");
});

afterEach(() => rm(directory, { recursive: true, force: true }));

it("has one holder at a time, and the next one gets it when the first lets go", async () => {
  const order: string[] = [];
  const first = await lockFile(never, path);
  const second = lockFile(never, path).then((lock) => {
    order.push("second");
    return lock;
  });
  order.push("first");
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
  expect(order).toEqual(["first", "second"]);
  expect(existsSync(path)).toBe(false);
});

it("is taken over from a holder that died", async () => {
  await writeFile(path, JSON.stringify({ pid: process.pid, startTime: "not mine" }));
  await using lock = await lockFile(never, path);
  expect(lock).toBeDefined();
});

it("can be given up waiting for", async () => {
  await using _held = await lockFile(never, path);
  await expect(lockFile(AbortSignal.timeout(50), path)).rejects.toThrow("aborted");
});
