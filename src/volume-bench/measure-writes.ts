/** Writes files into a directory of its own, reads, lists and deletes them. What was written is removed whatever happens. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { join, relative } from "node:path";
import {
  type BenchLine,
  type BenchPlan,
  type BenchResult,
  type FilesLeft,
  smallFileBytes,
} from "../core/volume-bench.ts";
import { isErrno } from "../runtime/errno.ts";
import { blockBytes, readWhole } from "./read-file.ts";
import { Stopwatch } from "./stopwatch.ts";

export type Report = (line: BenchLine) => void;

/** A step failed, and its files are removed but for these. */
export class FailedStepError extends Error {
  override readonly name = "FailedStepError";
  readonly filesLeft: FilesLeft;

  constructor(cause: Error, filesLeft: FilesLeft) {
    super(cause.message, { cause });
    this.filesLeft = filesLeft;
  }
}

/** Several, because the first one may fill a cache that the others use. */
const listings = 5;

export async function measureWrites(
  signal: AbortSignal,
  plan: BenchPlan & { readonly directory: string },
  report: Report,
): Promise<BenchResult> {
  const directory = join(plan.mountPath, plan.directory);
  await mkdir(directory);
  const written = new Written(directory);
  try {
    const measurements = await measured(signal, plan, { directory, written, report });
    return { measurements, filesLeft: await removed(plan.mountPath, written, report) };
  } catch (error) {
    throw new FailedStepError(error as Error, await removed(plan.mountPath, written, report));
  }
}

interface Writing {
  readonly directory: string;
  readonly written: Written;
  readonly report: Report;
}

async function measured(
  signal: AbortSignal,
  plan: BenchPlan,
  { directory, written, report }: Writing,
): Promise<BenchResult["measurements"]> {
  const watches: Stopwatch[] = [];
  const start = (name: ConstructorParameters<typeof Stopwatch>[0]) => {
    signal.throwIfAborted();
    report({ step: name });
    const watch = new Stopwatch(name);
    watches.push(watch);
    return watch;
  };
  const large = written.path("large");
  await writeLarge(signal, start("write"), large, plan.sizeBytes);
  await readWhole(signal, start("read"), large);
  const names = Array.from({ length: plan.files }, (_, index) => written.path(`small-${index}`));
  await each(signal, start("write small files"), names, (path) => writeSmall(path));
  await each(signal, start("list"), Array(listings).fill(directory), async (path) => {
    await readdir(path);
    return 0;
  });
  await each(signal, start("read small files"), names, readSmall);
  await each(signal, start("delete"), names, async (path) => {
    await written.remove(path);
    return 0;
  });
  return watches.flatMap(({ measurement }) => measurement ?? []);
}

/** The result has few names, because it is one line of a log. */
const mostNames = 20;

async function removed(mountPath: string, written: Written, report: Report): Promise<FilesLeft> {
  report({ step: "remove" });
  const left = await written.removeAll();
  return { count: left.length, paths: left.slice(0, mostNames).map((path) => relative(mountPath, path)) };
}

async function each(
  signal: AbortSignal,
  watch: Stopwatch,
  paths: readonly string[],
  operation: (path: string) => Promise<number>,
): Promise<void> {
  for (const path of paths) {
    signal.throwIfAborted();
    await watch.time(() => operation(path));
  }
}

/** mount-s3 uploads while blocks are written, and answers close when the object is complete: close is one of the operations. */
async function writeLarge(signal: AbortSignal, watch: Stopwatch, path: string, size: number): Promise<void> {
  const block = randomBytes(blockBytes);
  const file = await open(path, "wx");
  try {
    for (let done = 0; done < size; done += block.length) {
      signal.throwIfAborted();
      await watch.time(async () => (await file.write(block, 0, Math.min(block.length, size - done))).bytesWritten);
    }
  } finally {
    await watch.time(async () => {
      await file.close();
      return 0;
    });
  }
}

async function writeSmall(path: string): Promise<number> {
  await using file = await open(path, "wx");
  return (await file.write(randomBytes(smallFileBytes))).bytesWritten;
}

async function readSmall(path: string): Promise<number> {
  await using file = await open(path, "r");
  return (await file.read(Buffer.alloc(smallFileBytes))).bytesRead;
}

/** What this run may have written. */
class Written {
  readonly #directory: string;
  readonly #paths = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The path of a file that is about to be written. */
  path(name: string): string {
    const path = join(this.#directory, name);
    this.#paths.add(path);
    return path;
  }

  async remove(path: string): Promise<void> {
    try {
      await unlink(path);
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
    }
    this.#paths.delete(path);
  }

  /** Several at a time, because kubelet may be waiting to end the Pod. Resolves with the files that could not be removed. */
  async removeAll(): Promise<readonly string[]> {
    const queue = [...this.#paths];
    const worker = async () => {
      for (let path = queue.pop(); path !== undefined; path = queue.pop())
        await this.remove(path).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    // A bucket has no directories: this one is gone with its last object, unless nothing was ever written.
    await rmdir(this.#directory).catch(() => undefined);
    return [...this.#paths];
  }
}
