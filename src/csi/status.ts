/** The gRPC code and text of each failure: a contract with kubelet and the sidecars. No other file maps failures to codes. */
import { status } from "@grpc/grpc-js";
import { DriverError, type ErrorKind } from "../core/errors.ts";
import { boundedWithFix } from "../core/failures/bounded-text.ts";
import { describeError } from "../runtime/log.ts";
import { withoutUserInfo } from "../runtime/user-info.ts";

export interface Failure {
  readonly code: status;
  readonly details: string;
}

/** Never throws, and never shows the user info of a URL. An error that is neither a DriverError nor an abort is Internal. */
export function toStatus(error: unknown): Failure {
  const reason = reasonOf(error);
  return { code: codeFor(reason), details: sendable(reason) };
}

/** Aborts a call whose caller does not wait for the answer any more. */
export class CallerLeft extends Error {
  override readonly name = "AbortError";
  readonly code: status.DEADLINE_EXCEEDED | status.CANCELLED;

  constructor(why: "deadline" | "cancelled") {
    super(why === "deadline" ? "the caller's deadline passed" : "the caller cancelled the call");
    this.code = why === "deadline" ? status.DEADLINE_EXCEEDED : status.CANCELLED;
  }
}

/**
 * kubelet reads these codes. Aborted, Unavailable, DeadlineExceeded, Canceled and ResourceExhausted
 * mean "may still be in progress": kubelet keeps the volume on its books and will unpublish it.
 * Any other code means "nothing is left behind", so we may only return one when that is true.
 */
const codeOf = {
  invalid: status.INVALID_ARGUMENT,
  missing: status.NOT_FOUND,
  exists: status.ALREADY_EXISTS,
  denied: status.PERMISSION_DENIED,
  unauthenticated: status.UNAUTHENTICATED,
  busy: status.ABORTED,
  notReady: status.UNAVAILABLE,
  unsupported: status.UNIMPLEMENTED,
  inUse: status.FAILED_PRECONDITION,
  exhausted: status.RESOURCE_EXHAUSTED,
} as const satisfies Record<ErrorKind, status>;

function codeFor(error: unknown): status {
  if (error instanceof DriverError) return codeOf[error.kind];
  if (error instanceof CallerLeft) return error.code;
  const name = error instanceof Error ? error.name : undefined;
  // A time limit of the driver ended before the caller's deadline: the caller still waits, and repeats the call (MP-10).
  if (name === "TimeoutError") return status.UNAVAILABLE;
  if (name === "AbortError") return status.CANCELLED;
  return status.INTERNAL;
}

/** Functions of Node reject with an AbortError that has the reason of the signal as its cause. */
function reasonOf(error: unknown): unknown {
  const hidden = error instanceof Error && error.name === "AbortError" && error.cause !== undefined;
  return hidden ? error.cause : error;
}

/**
 * An event has 1,024 bytes. kubelet and csi-provisioner put up to 80 characters and the name of a volume or StorageClass in front of the
 * text; with a name of up to 60 characters the fix, which ends the text, is in the event.
 */
const maxBytes = 880;

function sendable(error: unknown): string {
  const message = error instanceof DriverError ? error.message : describeError(error);
  const hint = error instanceof DriverError ? error.hint : undefined;
  return boundedWithFix(clean(message), hint && clean(hint), maxBytes);
}

/** Before the text is cut: of a URL that is cut, nothing shows where its password ends. encodeURI, which grpc-js uses, throws on half a surrogate pair. */
function clean(text: string): string {
  return withoutUserInfo(text.toWellFormed());
}
