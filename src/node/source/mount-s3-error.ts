import type { ErrorKind } from "../../core/errors.ts";

const limit = 1024;

/**
 * The error message at the end of mount-s3's log, as one line that fits into an event. mount-s3 ends its log with "Error: …" and
 * "Caused by: …"; the lines before are about other things. For an answer that mount-s3 does not know it prints the whole answer of the
 * object store as Rust shows it: then error code and message of the answer come first.
 */
export function mountS3Error(log: string): string {
  const start = log.search(/^Error: (?![\s\S]*^Error: )/m);
  const text = start === -1 ? log.slice(-limit) : log.slice(start);
  const [causes = ""] = text.split(/^Stack backtrace:$/m);
  const line = causes.replaceAll(/\s+/g, " ").trim();
  return (answerIn(line) ?? line).slice(0, limit);
}

/** The XML of the object store in a message of mount-s3, and what mount-s3 was doing. */
function answerIn(line: string): string | undefined {
  const [, code] = /<Code>([^<]+)<\/Code>/.exec(line) ?? [];
  if (code === undefined) return undefined;
  const [, message = ""] = /<Message>([^<]*)<\/Message>/.exec(line) ?? [];
  const [, status] = /response_status: (\d+)/.exec(line) ?? [];
  const [, doing] = /\b0: (.*?) 1: /.exec(line) ?? [];
  const said = [code, unescaped(message)].filter(Boolean).join(": ");
  const details = [status && `HTTP ${status}`, doing].filter(Boolean).join(", ");
  return details === "" ? said : `${said} (${details})`;
}

const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: "<", gt: ">", amp: "&" };

/** Text of XML, in a string as Rust quotes it. */
function unescaped(text: string): string {
  return text
    .replaceAll(/\\(["\\])/g, "$1")
    .replaceAll(/&#(\d+);/g, (_, number: string) => String.fromCodePoint(Number(number)))
    .replaceAll(/&(quot|apos|lt|gt|amp);/g, (_, name: string) => entities[name] ?? "");
}

interface KnownFailure {
  readonly kind: ErrorKind;
  readonly pattern: RegExp;
  /** A complete sentence. */
  readonly fix: string;
}

/** In this order: the text for wrong credentials also says "Forbidden". */
const known: readonly KnownFailure[] = [
  {
    kind: "invalid",
    pattern: /AuthorizationHeaderMalformed|PermanentRedirect|region \S+ is wrong/i,
    fix: "Set the region that the object store expects: mount option region of the PersistentVolume or StorageClass, or chart value s3.region.",
  },
  {
    kind: "notReady",
    pattern: /RequestTimeTooSkewed|difference between the request time and the/i,
    fix: "Set the clock of the node right: it differs too much from that of the object store.",
  },
  {
    kind: "unauthenticated",
    pattern:
      /InvalidAccessKeyId|does not exist in our records|SignatureDoesNotMatch|signature we calculated|ExpiredToken|InvalidToken|token .*expired/i,
    fix: "Check access_key_id, secret_access_key and session_token in the Secret of the volume, or in that of the driver.",
  },
  {
    kind: "denied",
    pattern: /AccessDenied|Access Denied|Forbidden/i,
    fix: "Allow the account s3:ListBucket on the bucket, with the prefix of the volume, or use the Secret of another account.",
  },
  {
    kind: "missing",
    pattern: /NoSuchBucket|bucket does not exist/i,
    fix: "Create the bucket, or correct volumeAttributes.bucketName of the PersistentVolume.",
  },
];

/** Classifies the answer of the object store by its text. Any other error is considered temporary (PR-1). */
export function mountFailureKind(error: string): ErrorKind {
  return failureIn(error)?.kind ?? "notReady";
}

/** What to change, as a complete sentence; undefined if the error is not known. */
export function mountFailureFix(error: string): string | undefined {
  return failureIn(error)?.fix;
}

function failureIn(error: string): KnownFailure | undefined {
  return known.find(({ pattern }) => pattern.test(error));
}
