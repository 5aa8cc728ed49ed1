/** The program of the Pod of `kubectl s3 bench`, on directories of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BenchLine, type BenchPlan, noFilesLeft, parseBenchLine } from "../../src/core/volume-bench.ts";

const program = join(import.meta.dirname, "../../src/bin/volume-bench.ts");
let root = "";

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "volume-bench-"));
});

afterAll(() => rmSync(root, { recursive: true }));

function start(plan: Omit<BenchPlan, "mountPath">, mountPath: string): ChildProcess {
  const args = ["--disable-warning=ExperimentalWarning", program, JSON.stringify({ ...plan, mountPath })];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

async function* linesOf({ stdout }: ChildProcess): AsyncGenerator<BenchLine> {
  if (stdout === null) throw new Error("no output");
  for await (const text of createInterface(stdout)) {
    const line = parseBenchLine(text);
    if (line !== undefined) yield line;
  }
}

async function allOf(child: ChildProcess): Promise<readonly BenchLine[]> {
  const lines: BenchLine[] = [];
  for await (const line of linesOf(child)) lines.push(line);
  return lines;
}

it("OP-5 bench measures writes, reads, a listing and deletions, and leaves nothing", async () => {
  const mount = mkdtempSync(join(root, "writable-"));
  const child = start({ directory: "own", sizeBytes: 3_000_000, files: 7 }, mount);
  const lines = await allOf(child);
  const last = lines.at(-1);
  if (last === undefined || !("result" in last)) throw new Error(JSON.stringify(lines));
  const counts = last.result.measurements.map(({ name, operations, bytes }) => ({ name, operations, bytes }));
  expect(counts).toEqual([
    // Three blocks and close; three blocks and the end of the file.
    { name: "write", operations: 4, bytes: 3_000_000 },
    { name: "read", operations: 4, bytes: 3_000_000 },
    { name: "write small files", operations: 7, bytes: 7 * 4096 },
    { name: "list", operations: 5, bytes: 0 },
    { name: "read small files", operations: 7, bytes: 7 * 4096 },
    { name: "delete", operations: 7, bytes: 0 },
  ]);
  for (const { seconds, latencyMs } of last.result.measurements) {
    expect(seconds).toBeGreaterThan(0);
    expect(latencyMs.p50).toBeLessThanOrEqual(latencyMs.p95);
  }
  expect(last.result.filesLeft).toEqual(noFilesLeft);
  expect(readdirSync(mount)).toEqual([]);
});

it("OP-5 bench that is stopped on the way removes what it wrote", async () => {
  const mount = mkdtempSync(join(root, "stopped-"));
  const child = start({ directory: "own", sizeBytes: 2 ** 30, files: 1000 }, mount);
  const ended = once(child, "exit");
  for await (const line of linesOf(child)) if ("step" in line && line.step === "write") child.kill("SIGTERM");
  await ended;
  expect(existsSync(join(mount, "own"))).toBe(false);
});

it("OP-5 bench of a volume that must not be written reads what is there, within its limits", async () => {
  const mount = mkdtempSync(join(root, "readable-"));
  mkdirSync(join(mount, "below"));
  for (const [name, size] of [
    ["a", 10],
    ["below/b", 5000],
    ["below/c", 3_000_000],
  ] as const)
    writeFileSync(join(mount, name), Buffer.alloc(size));
  const lines = await allOf(start({ sizeBytes: 2 ** 20, files: 100 }, mount));
  const last = lines.at(-1);
  if (last === undefined || !("result" in last)) throw new Error(JSON.stringify(lines));
  expect(last.result.measurements).toMatchObject([
    { name: "read", operations: 1, bytes: 2 ** 20 },
    { name: "read small files", operations: 3, bytes: 10 + 4096 + 4096 },
    { name: "list", operations: 2 },
  ]);
  expect(readdirSync(mount)).toEqual(["a", "below"]);
});

it("OP-5 bench does not read a large directory to its end", async () => {
  const mount = mkdtempSync(join(root, "large-"));
  for (let file = 0; file < 3000; file += 1) writeFileSync(join(mount, `f${file}`), "");
  const lines = await allOf(start({ sizeBytes: 2 ** 20, files: 5000 }, mount));
  const last = lines.at(-1);
  if (last === undefined || !("result" in last)) throw new Error(JSON.stringify(lines));
  expect(last.result.measurements.find(({ name }) => name === "read small files")?.operations).toBe(1000);
});

it("OP-4 bench reports the files that it could not remove after a failed step", async () => {
  const mount = mkdtempSync(join(root, "full-"));
  const child = start({ directory: "own", sizeBytes: 2 ** 26, files: 1000 }, mount);
  const lines: BenchLine[] = [];
  for await (const line of linesOf(child)) {
    lines.push(line);
    // In the place of a file that is written much later. It cannot be unlinked.
    if ("step" in line && line.step === "write") mkdirSync(join(mount, "own/small-999"));
  }
  expect(lines.at(-1)).toEqual({
    problem: expect.stringContaining("EEXIST") as string,
    filesLeft: { count: 1, paths: ["own/small-999"] },
  });
  expect(readdirSync(join(mount, "own"))).toEqual(["small-999"]);
});

it("OP-4 bench reports why it failed", async () => {
  const child = start({ directory: "own", sizeBytes: 2 ** 20, files: 1 }, join(root, "none"));
  const ended = once(child, "exit");
  const lines = await allOf(child);
  expect(lines).toEqual([{ problem: expect.stringContaining("ENOENT") as string, filesLeft: noFilesLeft }]);
  expect(await ended).toEqual([1, null]);
});
