import { isErrno } from "../../runtime/errno.ts";
import { openPath } from "../descriptor.ts";
import { AT_EMPTY_PATH, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, statxLayout } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/**
 * Whether the root of a mount, a directory or file, was deleted. Sends a request to the server of the file system, so the call may
 * take arbitrarily long and cannot be cancelled: the caller must limit the number of calls. mountinfo is no substitute: it
 * shows `//deleted` only after a look-up of the name found nothing, and also after a look-up that failed.
 */
export async function hasVanished(mountPoint: string): Promise<boolean> {
  using root = openPath(mountPoint);
  try {
    const flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
    await detachedSyscall("statx", root.fd, "", flags, STATX_BASIC_STATS, Buffer.alloc(statxLayout.bytes));
    return false;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESTALE")) return true;
    throw error;
  }
}
