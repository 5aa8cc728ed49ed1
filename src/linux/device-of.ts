import type { Descriptor } from "./descriptor.ts";
import type { DeviceId } from "./device-id.ts";
import { AT_EMPTY_PATH, AT_STATX_DONT_SYNC, statxLayout } from "./kernel-abi.ts";
import { syscall } from "./native.ts";

/** The device of the file that a descriptor names. Sends no request to the file system. */
export function deviceOf(file: Descriptor): DeviceId {
  const status = Buffer.alloc(statxLayout.bytes);
  syscall("statx", file.fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return `${status.readUInt32LE(statxLayout.deviceMajor)}:${status.readUInt32LE(statxLayout.deviceMinor)}` as DeviceId;
}
