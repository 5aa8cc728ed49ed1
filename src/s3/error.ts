/** Error codes of object stores → errors of the driver. No other file interprets the codes of a store. */

import { DriverError, type ErrorKind } from "../core/errors.ts";
import { callFailures } from "../core/failures/call-failures.ts";
import { defaultStore, type Store, valueOfStore } from "../core/stores/store.ts";
import { isErrno } from "../runtime/errno.ts";

/** `doing` completes the sentence "could not …". Returns the reason of the abort if the signal is aborted. */
export function storeError(signal: AbortSignal, doing: string, error: unknown): Error {
  if (signal.aborted) return signal.reason as Error;
  const answer = answerIn(error);
  const kind = kindOf(answer);
  const hint = isForeign(answer) ? foreignHint(error) : hintFor(answer.code, kind, error);
  return new DriverError(kind, `could not ${doing}${atStore(error)}: ${answer.code}${said(answer, error)}`, {
    cause: error,
    ...(hint !== undefined && { hint }),
  });
}

/** An answer that is not from S3 has no useful message: the SDK only reports that it cannot parse the body. */
function said(answer: Answer, error: unknown): string {
  if (isForeign(answer)) return ", and not in the words of S3";
  return error instanceof Error && error.message !== "" && error.message !== answer.code ? `: ${error.message}` : "";
}

/** The error code of the store, such as NoSuchBucket. */
export function storeCode(error: unknown): string {
  return answerIn(error).code;
}

/** The kind of a failure, for metrics: codes of stores have no bound. aborted: the caller gave up. */
export function storeFailure(error: unknown): ErrorKind | "aborted" {
  if (error instanceof Error && error.name === "AbortError") return "aborted";
  // A bucket without tags is usual, and no failure of the store.
  return noTags.has(storeCode(error)) ? "missing" : kindOf(answerIn(error));
}

/** Codes for a bucket without tags. */
export const noTags: ReadonlySet<string> = new Set(["NoSuchTagSet", "NoSuchTagSetError"]);

interface Answer {
  /** The error code of the store, else the error code of the connection or the HTTP status. */
  readonly code: string;
  /** undefined: there was no answer. */
  readonly httpStatus: number | undefined;
}

function answerIn(error: unknown): Answer {
  if (!(error instanceof Error)) return { code: String(error), httpStatus: undefined };
  const metadata = (error as { $metadata?: { httpStatusCode?: number } }).$metadata;
  const httpStatus = metadata?.httpStatusCode;
  // Not every answer has an error code of S3. A failed connection has `code`.
  const code = isNamed(error.name) ? error.name : ((error as { code?: string }).code ?? wordOf(httpStatus));
  return { code, httpStatus };
}

/** The SDK calls every 404 without an error code NotFound. */
function isNamed(name: string): boolean {
  return !["Error", "UnknownError", "Unknown", "NotFound", "AggregateError"].includes(name) && !/^\d+$/.test(name);
}

/** Not the store answered, but a proxy in front of it, such as a gateway without rules. */
function isForeign({ code }: Answer): boolean {
  return code === wordOf(404);
}

function wordOf(httpStatus: number | undefined): string {
  return httpStatus === undefined ? "no answer" : `HTTP ${httpStatus}`;
}

const kindByCode: Readonly<Record<string, ErrorKind>> = {
  NoSuchBucket: "missing",
  BucketAlreadyExists: "exists",
  BucketAlreadyOwnedByYou: "exists",
  BucketNotEmpty: "inUse",
  // CloudServer: the bucket has nothing left but an unfinished upload.
  MPUinProgress: "inUse",
  TooManyBuckets: "exhausted",
  QuotaExceeded: "exhausted",
  InvalidAccessKeyId: "unauthenticated",
  SignatureDoesNotMatch: "unauthenticated",
  InvalidToken: "unauthenticated",
  ExpiredToken: "unauthenticated",
  TokenRefreshRequired: "unauthenticated",
  InvalidClientTokenId: "unauthenticated",
  // Listed here because the refusal of one object in DeleteObjects has no HTTP status.
  AccessDenied: "denied",
  AuthorizationHeaderMalformed: "invalid",
  // A 403 that passes as soon as the clock is right.
  RequestTimeTooSkewed: "notReady",
  OperationAborted: "notReady",
  RequestTimeout: "notReady",
  SlowDown: "notReady",
  ServiceUnavailable: "notReady",
  InternalError: "notReady",
  Throttling: "notReady",
  ThrottlingException: "notReady",
  TooManyRequests: "notReady",
};

/**
 * Without an answer the store may have performed the request, so the caller must repeat it. A 404 means that something does not exist
 * only with the error code of S3 for that (DS-2).
 */
function kindOf({ code, httpStatus }: Answer): ErrorKind {
  const known = kindByCode[code];
  if (known !== undefined) return known;
  if (httpStatus === undefined || httpStatus >= 500 || httpStatus === 408 || httpStatus === 429) {
    return httpStatus === 501 ? "unsupported" : "notReady";
  }
  return kindByStatus[httpStatus] ?? "invalid";
}

const kindByStatus: Readonly<Record<number, ErrorKind>> = {
  401: "unauthenticated",
  403: "denied",
  404: "notReady",
  405: "unsupported",
  409: "notReady",
};

function hintFor(code: string, kind: ErrorKind, error: unknown): string | undefined {
  const { name } = storeIn(error);
  if (isErrno(error, ...certificateErrors)) {
    if (name === defaultStore) return callFailures.certificateNotTrusted.fix;
    return `Put the certificate authority of the store into the chart value ${valueOfStore(name)}.caCertData.`;
  }
  return hintByCode[code]?.replace("s3.region", `${valueOfStore(name)}.region`) ?? hints[kind];
}

function foreignHint(error: unknown): string {
  const { name, endpointUrl } = storeIn(error);
  return `Check that the chart value ${valueOfStore(name)}.endpointUrl, ${endpointUrl}, leads to the S3 service itself; the call is repeated.`;
}

/** Installations with one store do not need its name in messages. */
function atStore(error: unknown): string {
  const { name } = storeIn(error);
  return name === defaultStore ? "" : ` at store ${name}`;
}

type StoreOfError = Pick<Store, "name" | "endpointUrl">;

function storeIn(error: unknown): StoreOfError {
  const { store } = (error ?? {}) as { readonly store?: StoreOfError };
  return store ?? { name: defaultStore, endpointUrl: "" };
}

/** The same error, without credentials in its message, and with the store for the hints. */
export function fromStore(error: unknown, store: StoreOfError, masked: (text: string) => string): Error {
  const known = error instanceof Error ? error : new Error(String(error));
  return Object.assign(known, { store, message: masked(known.message) });
}

const hintByCode: Readonly<Record<string, string>> = {
  RequestTimeTooSkewed: callFailures.clockSkew.fix,
  AuthorizationHeaderMalformed: callFailures.wrongRegion.fix,
  BucketAlreadyExists: callFailures.bucketTaken.fix,
  TooManyBuckets: callFailures.quotaOfStore.fix,
  QuotaExceeded: callFailures.quotaOfStore.fix,
};

const hints: Readonly<Partial<Record<ErrorKind, string>>> = {
  unauthenticated: "Check access_key_id, secret_access_key and session_token in the Secret that is used.",
  denied: "Give the account of the Secret the right to do this, or use another Secret.",
  notReady: "Check that the S3 endpoint of the driver answers; the call is repeated.",
};

/** Codes of Node for a certificate that is not trusted. */
export const certificateErrors: readonly string[] = [
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
];
