import { readSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call } from "../../runtime/call.ts";
import type { Descriptor } from "../descriptor.ts";

export interface TableLimits {
  readonly mounts: number;
  readonly bytes: number;
}

const newline = 0x0a;
/** The kernel gives at most a page at a time. */
const partBytes = 4096;
/** Less than a millisecond. */
const partsPerTurn = 32;

/**
 * The text of an open mountinfo; undefined if it is above the limits. Whoever has a mount namespace decides how large its
 * table is (up to fs.mount-max, 100,000 mounts), so other work gets its turn in between. Assumes that nobody closes the
 * descriptor meanwhile. Reading the table asks no file system, so it cannot hang.
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
