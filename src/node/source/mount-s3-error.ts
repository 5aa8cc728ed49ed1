import type { ErrorKind } from "../../core/errors.ts";

const limit = 1024;

/**
 * The error message at the end of mount-s3's log, as one line that fits into an event. mount-s3 ends its log with "Error: …" and
 * "Caused by: …"; the lines before are about other things.
 */
export function mountS3Error(log: string): string {
  const start = log.search(/^Error: (?![\s\S]*^Error: )/m);
  const text = start === -1 ? log.slice(-limit) : log.slice(start);
  return text.replaceAll(/\s+/g, " ").trim().slice(0, limit);
}

const kinds: readonly (readonly [ErrorKind, RegExp])[] = [
  [
    "unauthenticated",
    /InvalidAccessKeyId|does not exist in our records|SignatureDoesNotMatch|signature we calculated|ExpiredToken|InvalidToken|token .*expired/i,
  ],
  ["denied", /AccessDenied|Access Denied|Forbidden/i],
  ["missing", /NoSuchBucket|bucket does not exist/i],
];

/** Classifies the answer of the object store by its text. Any other error is considered temporary (PR-1). */
export function mountFailureKind(error: string): ErrorKind {
  return kinds.find(([, pattern]) => pattern.test(error))?.[0] ?? "notReady";
}
