/** What the object store says → what the driver says. Nobody else knows the store's codes. */
import { DriverError, type ErrorKind } from "../core/errors.ts";
import { isErrno } from "../runtime/errno.ts";

/** `doing` completes the sentence "could not …". */
export function storeError(signal: AbortSignal, doing: string, error: unknown): Error {
  if (signal.aborted) return signal.reason as Error;
  const answer = answerIn(error);
  const kind = kindOf(answer);
  const hint = isForeign(answer) ? foreignHint(error) : hintFor(kind, error);
  return new DriverError(kind, `could not ${doing}: ${answer.code}${said(answer, error)}`, {
    cause: error,
    ...(hint !== undefined && { hint }),
  });
}

/** The SDK's complaint about a body that it cannot read would only hide who answered. */
function said(answer: Answer, error: unknown): string {
  if (isForeign(answer)) return ", and not in the words of S3";
  return error instanceof Error && error.message !== "" && error.message !== answer.code ? `: ${error.message}` : "";
}

/** The store's own word for what went wrong, such as NoSuchBucket. */
export function storeCode(error: unknown): string {
  return answerIn(error).code;
}

interface Answer {
  /** The store's own word, else what there is in its place. */
  readonly code: string;
  /** undefined: there was no answer. */
  readonly httpStatus: number | undefined;
}

function answerIn(error: unknown): Answer {
  if (!(error instanceof Error)) return { code: String(error), httpStatus: undefined };
  const metadata = (error as { $metadata?: { httpStatusCode?: number } }).$metadata;
  const httpStatus = metadata?.httpStatusCode;
  // Not every answer has a word of S3; connections that fail have one in `code`.
  const code = isNamed(error.name) ? error.name : ((error as { code?: string }).code ?? wordOf(httpStatus));
  return { code, httpStatus };
}

/** NotFound is what the SDK calls every 404 that says nothing itself. */
function isNamed(name: string): boolean {
  return !["Error", "UnknownError", "Unknown", "NotFound", "AggregateError"].includes(name) && !/^\d+$/.test(name);
}

/** Something on the way to the store answered in its place, such as a gateway that has lost its rules for a while. */
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
  // CloudServer's word for a bucket that has nothing left but an unfinished upload.
  MPUinProgress: "inUse",
  TooManyBuckets: "exhausted",
  QuotaExceeded: "exhausted",
  InvalidAccessKeyId: "unauthenticated",
  SignatureDoesNotMatch: "unauthenticated",
  InvalidToken: "unauthenticated",
  ExpiredToken: "unauthenticated",
  TokenRefreshRequired: "unauthenticated",
  InvalidClientTokenId: "unauthenticated",
  // Also for one object of many, whose refusal has no HTTP status of its own.
  AccessDenied: "denied",
  AuthorizationHeaderMalformed: "invalid",
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
 * No answer at all means that the store may have done it: the caller has to ask again. That something is not there
 * is only believed in S3's own word for it (DS-2).
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

function hintFor(kind: ErrorKind, error: unknown): string | undefined {
  if (isErrno(error, ...certificateTroubles)) {
    return "Name the store's certificate authority in the chart value tls.caCertConfigMap.";
  }
  return hints[kind];
}

function foreignHint(error: unknown): string {
  const { endpointUrl } = error as { endpointUrl?: string };
  return `Check that the chart value s3.endpointUrl, ${endpointUrl}, leads to the S3 service itself; the call is repeated.`;
}

/** The same error, without credentials in its text, and with the address that explains an answer that is not S3's. */
export function fromEndpoint(error: unknown, endpointUrl: string, masked: (text: string) => string): Error {
  const known = error instanceof Error ? error : new Error(String(error));
  return Object.assign(known, { endpointUrl, message: masked(known.message) });
}

const hints: Readonly<Partial<Record<ErrorKind, string>>> = {
  unauthenticated: "Check access_key_id, secret_access_key and session_token in the Secret that is used.",
  denied: "Give the account of the Secret the right to do this, or use another Secret.",
  notReady: "Check that the S3 endpoint of the driver answers; the call is repeated.",
};

const certificateTroubles = [
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
];
