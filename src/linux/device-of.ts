import type { Descriptor } from "./descriptor.ts";
import { AT_EMPTY_PATH, AT_STATX_DONT_SYNC, statxLayout } from "./kernel-abi.ts";
import { syscall } from "./native.ts";

/** The device of the file that a descriptor names, as `major:minor` like in mountinfo. Sends no request to the file system. */
export function deviceOf(file: Descriptor): string {
  const status = Buffer.alloc(statxLayout.bytes);
  syscall("statx", file.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return `${status.readUInt32LE(statxLayout.deviceMajor)}:${status.readUInt32LE(statxLayout.deviceMinor)}`;
}
