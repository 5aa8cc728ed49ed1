/** True for a system error with one of these codes, such as "ENOENT". */
export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Returns what `ask` returns, or undefined if it fails with one of these codes. Every other error is thrown on. */
export function unlessErrno<Answer>(codes: readonly string[], ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (isErrno(error, ...codes)) return undefined;
    throw error;
  }
}
