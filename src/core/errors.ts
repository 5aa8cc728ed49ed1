/** Kinds of errors, independent of gRPC, S3 and Kubernetes. Only the adapters (src/csi/status.ts, src/s3, src/kube) translate them. */
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
  /** What the operator should change, run or read. Part of the gRPC message, and so of the events on Pod, claim or volume. */
  readonly hint: string | undefined;

  constructor(kind: ErrorKind, message: string, options: { cause?: unknown; hint?: string } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.hint = options.hint;
  }
}

/** CSI clients take these kinds for "may still be in progress" and repeat the call or undo it. */
const uncertain: ReadonlySet<ErrorKind> = new Set(["busy", "notReady", "exhausted"]);

/** Whether the CSI client takes this error for "the call had no effect". */
export function leavesNothing(error: unknown): boolean {
  return error instanceof DriverError && !uncertain.has(error.kind);
}
