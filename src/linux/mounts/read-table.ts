import { readSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call } from "../../runtime/call.ts";
import type { Descriptor } from "../descriptor.ts";

export interface TableLimits {
  readonly mounts: number;
  readonly bytes: number;
}

const newline = 0x0a;
/** The kernel returns at most one page per read. */
const partBytes = 4096;
/** Reading this many parts takes less than a millisecond. */
const partsPerTurn = 32;

/**
 * Reads an open mountinfo; undefined if the table exceeds the limits. The owner of a mount namespace controls the size of its table
 * (up to fs.mount-max, 100,000 mounts), so the loop yields to other work. The caller must keep the descriptor open. Sends no
 * request to a file system, so it cannot hang.
 */
export async function readTable(
  call: Call,
  { fd }: Descriptor,
  { mounts, bytes }: TableLimits,
): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let [length, lines] = [0, 0];
  for (;;) {
    if (parts.length % partsPerTurn === partsPerTurn - 1) await nextTurn();
    call.signal.throwIfAborted();
    const buffer = Buffer.allocUnsafe(partBytes);
    const part = buffer.subarray(0, readSync(fd, buffer, 0, partBytes, length));
    if (part.length === 0) return Buffer.concat(parts).toString("utf8");
    length += part.length;
    for (let at = part.indexOf(newline); at !== -1; at = part.indexOf(newline, at + 1)) lines += 1;
    if (length > bytes || lines > mounts) return undefined;
    parts.push(part);
  }
}
