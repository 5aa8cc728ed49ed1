import { isErrno } from "../../runtime/errno.ts";
import { openPath } from "../descriptor.ts";
import { AT_EMPTY_PATH, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, statxLayout } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/**
 * Whether the directory or file that a mount shows does not exist any more. Asks the server of the file system, so the
 * answer takes as long as the server wants, and cannot be taken back: the caller limits how many wait. mountinfo does
 * not tell: it shows `//deleted` only after somebody has looked the name up in vain, and also after a look-up that failed.
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
