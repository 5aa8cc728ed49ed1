/** What the object store says → what the driver says. Nobody else knows the store's codes. */
import { DriverError, type ErrorKind } from "../core/errors.ts";
import { isErrno } from "../runtime/errno.ts";

/** `doing` completes the sentence "could not …". */
export function storeError(signal: AbortSignal, doing: string, error: unknown): Error {
  if (signal.aborted) return signal.reason as Error;
  const { code, httpStatus } = answerIn(error);
  const kind = kindOf(code, httpStatus);
  const said = error instanceof Error && error.message !== "" && error.message !== code ? `: ${error.message}` : "";
  return new DriverError(kind, `could not ${doing}: ${code}${said}`, { cause: error, ...hintFor(kind, error) });
}

/** The store's own word for what went wrong, such as NoSuchBucket. */
export function storeCode(error: unknown): string {
  return answerIn(error).code;
}

interface Answer {
  readonly code: string;
  /** undefined: there was no answer. */
  readonly httpStatus: number | undefined;
}

function answerIn(error: unknown): Answer {
  if (!(error instanceof Error)) return { code: String(error), httpStatus: undefined };
  const metadata = (error as { $metadata?: { httpStatusCode?: number } }).$metadata;
  const httpStatus = metadata?.httpStatusCode;
  // An answer without a body, as to HEAD, has no word; connections that fail have one in `code`.
  const code = isNamed(error.name) ? error.name : ((error as { code?: string }).code ?? wordOf(httpStatus));
  return { code, httpStatus };
}

function isNamed(name: string): boolean {
  return !["Error", "UnknownError", "Unknown", "AggregateError"].includes(name) && !/^\d+$/.test(name);
}

function wordOf(httpStatus: number | undefined): string {
  return httpStatus === undefined ? "no answer" : `HTTP ${httpStatus}`;
}

const kindByCode: Readonly<Record<string, ErrorKind>> = {
  NoSuchBucket: "missing",
  BucketAlreadyExists: "exists",
  BucketAlreadyOwnedByYou: "exists",
  BucketNotEmpty: "inUse",
  TooManyBuckets: "exhausted",
  QuotaExceeded: "exhausted",
  InvalidAccessKeyId: "unauthenticated",
  SignatureDoesNotMatch: "unauthenticated",
  InvalidToken: "unauthenticated",
  ExpiredToken: "unauthenticated",
  TokenRefreshRequired: "unauthenticated",
  InvalidClientTokenId: "unauthenticated",
  AuthorizationHeaderMalformed: "invalid",
  OperationAborted: "notReady",
  RequestTimeout: "notReady",
  SlowDown: "notReady",
  Throttling: "notReady",
  ThrottlingException: "notReady",
  TooManyRequests: "notReady",
};

/** No answer at all means that the store may have done it: the caller has to ask again. */
function kindOf(code: string, httpStatus: number | undefined): ErrorKind {
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
  404: "missing",
  405: "unsupported",
  409: "notReady",
};

function hintFor(kind: ErrorKind, error: unknown): { readonly hint?: string } {
  if (isErrno(error, ...certificateTroubles)) {
    return { hint: "Name the store's certificate authority in the chart value tls.caCertConfigMap." };
  }
  const hint = hints[kind];
  return hint === undefined ? {} : { hint };
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
