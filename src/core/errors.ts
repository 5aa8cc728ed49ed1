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
