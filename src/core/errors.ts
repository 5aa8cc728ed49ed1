/** Every way the driver can refuse or fail, in our own words. Edges translate; nobody else does. */
export type ErrorKind =
  | "invalid"
  | "missing"
  | "exists"
  | "busy"
  | "notReady"
  | "denied"
  | "unauthenticated"
  | "unsupported"
  | "inUse"
  | "exhausted";

export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly kind: ErrorKind;
  /** The next thing an operator should run or read. Shown in the Pod's events. */
  readonly hint: string | undefined;

  constructor(kind: ErrorKind, message: string, options: { cause?: unknown; hint?: string } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.hint = options.hint;
  }
}

/** CSI clients read the other kinds as "may still be in progress", and repeat the call or undo it. */
const uncertain: ReadonlySet<ErrorKind> = new Set(["busy", "notReady", "exhausted"]);

/** Whether the caller is told that the call had no effect. */
export function leavesNothing(error: unknown): boolean {
  return error instanceof DriverError && !uncertain.has(error.kind);
}
