import { unlessErrno } from "../runtime/errno.ts";

/**
 * What a file of /proc says about a process; undefined if the process has ended (ENOENT, ESRCH) or is ending and has no
 * namespaces any more (EACCES, and EINVAL from its mount table).
 */
export function unlessGone<Answer>(ask: () => Answer): Answer | undefined {
  return unlessErrno(["ENOENT", "ESRCH", "EACCES", "EINVAL"], ask);
}
