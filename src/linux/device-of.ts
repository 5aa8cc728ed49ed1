import type { Descriptor } from "./descriptor.ts";
import { syscall } from "./native.ts";

const AT_EMPTY_PATH = 0x1000;
/** The server is not asked: the kernel answers from what it knows. */
const AT_STATX_DONT_SYNC = 0x4000;
const statxSize = 256;
const stxDevMajor = 136;
const stxDevMinor = 140;

export interface Device {
  readonly major: number;
  readonly minor: number;
}

/** The device of what a descriptor names. */
export function deviceOf(place: Descriptor): Device {
  const status = Buffer.alloc(statxSize);
  syscall("statx", place.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return { major: status.readUInt32LE(stxDevMajor), minor: status.readUInt32LE(stxDevMinor) };
}
