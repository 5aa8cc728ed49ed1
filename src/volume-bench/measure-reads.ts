/** For a volume that must not be written: lists what is there, reads the beginning of small numbers of files, and one large file. */
import { open, opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type BenchPlan, type BenchResult, noFilesLeft, smallFileBytes } from "../core/volume-bench.ts";
import type { Report } from "./measure-writes.ts";
import { readWhole } from "./read-file.ts";
import { Stopwatch } from "./stopwatch.ts";

/** A bucket may have millions of prefixes, and a prefix millions of objects. */
const directoryLimit = 20;
const entryLimit = 1000;

export async function measureReads(signal: AbortSignal, plan: BenchPlan, report: Report): Promise<BenchResult> {
  const list = new Stopwatch("list");
  report({ step: "list" });
  const files = await found(signal, list, plan);
  const small = new Stopwatch("read small files");
  report({ step: "read small files" });
  for (const path of files) {
    signal.throwIfAborted();
    await small.time(() => readBeginning(path));
  }
  const large = new Stopwatch("read");
  const largest = await largestOf(files);
  if (largest !== undefined) {
    report({ step: "read" });
    await readWhole(signal, large, largest, plan.sizeBytes);
  }
  const measurements = [large, small, list].flatMap(({ measurement }) => measurement ?? []);
  return { measurements, filesLeft: noFilesLeft };
}

/** The first files of the volume, from the top down. */
async function found(
  signal: AbortSignal,
  watch: Stopwatch,
  { mountPath, files: limit }: BenchPlan,
): Promise<readonly string[]> {
  const files: string[] = [];
  const directories = [mountPath];
  for (let at = 0; at < Math.min(directories.length, directoryLimit) && files.length < limit; at += 1) {
    const directory = directories[at] ?? mountPath;
    signal.throwIfAborted();
    await watch.time(async () => {
      let entries = 0;
      for await (const entry of await opendir(directory)) {
        if (entry.isDirectory()) directories.push(join(directory, entry.name));
        else if (entry.isFile() && files.length < limit) files.push(join(directory, entry.name));
        entries += 1;
        if (entries === entryLimit) break;
      }
      return 0;
    });
  }
  return files;
}

async function readBeginning(path: string): Promise<number> {
  await using file = await open(path, "r");
  return (await file.read(Buffer.alloc(smallFileBytes))).bytesRead;
}

async function largestOf(paths: readonly string[]): Promise<string | undefined> {
  const sizes = await Promise.all(paths.map(async (path) => ({ path, size: (await stat(path)).size })));
  return sizes.toSorted((a, b) => b.size - a.size).find(({ size }) => size > 0)?.path;
}
