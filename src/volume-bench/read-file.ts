import { open } from "node:fs/promises";
import type { Stopwatch } from "./stopwatch.ts";

/** Larger than any request of the kernel, so that read-ahead works as for `cat` and `cp`. */
export const blockBytes = 2 ** 20;

/** Reads a file from its beginning to its end, or up to the limit. */
export async function readWhole(
  signal: AbortSignal,
  watch: Stopwatch,
  path: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  await using file = await open(path, "r");
  const block = Buffer.alloc(blockBytes);
  let total = 0;
  for (let bytes = 1; bytes > 0 && total < limit; total += bytes) {
    signal.throwIfAborted();
    bytes = await watch.time(async () => (await file.read(block, 0, block.length)).bytesRead);
  }
}
