import { unlessErrno } from "../runtime/errno.ts";

/**
 * Reads something of a process from /proc. Returns undefined if the process has ended (ENOENT, ESRCH), or is ending and has no
 * namespaces any more (EACCES, and EINVAL from its mount table). Throws any other error.
 */
export function unlessGone<Answer>(ask: () => Answer): Answer | undefined {
  return unlessErrno(["ENOENT", "ESRCH", "EACCES", "EINVAL"], ask);
}
