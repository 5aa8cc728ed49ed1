import type { Descriptor } from "./descriptor.ts";
import { syscall } from "./native.ts";

const AT_EMPTY_PATH = 0x1000;
/** The server is not asked: the kernel answers from what it knows. */
const AT_STATX_DONT_SYNC = 0x4000;
const statxSize = 256;
const stxDevMajor = 136;
const stxDevMinor = 140;

/** The device of what a descriptor names, as mountinfo writes it: `major:minor`. */
export function deviceOf(place: Descriptor): string {
  const status = Buffer.alloc(statxSize);
  syscall("statx", place.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return `${status.readUInt32LE(stxDevMajor)}:${status.readUInt32LE(stxDevMinor)}`;
}
