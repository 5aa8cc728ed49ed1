import { isErrno } from "../runtime/errno.ts";

/**
 * What a file of /proc says about a process; undefined if the process has ended (ENOENT, ESRCH) or is ending and has no
 * namespaces any more (EACCES, and EINVAL from its mount table).
 */
export function unlessGone<Answer>(ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EINVAL")) return undefined;
    throw error;
  }
}
