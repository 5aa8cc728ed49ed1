import type { Descriptor } from "./descriptor.ts";
import { AT_EMPTY_PATH, AT_STATX_DONT_SYNC, statxLayout } from "./kernel-abi.ts";
import { syscall } from "./native.ts";

/** The device of what a descriptor names, as mountinfo writes it: `major:minor`. */
export function deviceOf(place: Descriptor): string {
  const status = Buffer.alloc(statxLayout.bytes);
  syscall("statx", place.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return `${status.readUInt32LE(statxLayout.deviceMajor)}:${status.readUInt32LE(statxLayout.deviceMinor)}`;
}
