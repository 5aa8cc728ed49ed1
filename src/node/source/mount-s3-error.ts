import type { ErrorKind } from "../../core/errors.ts";

const limit = 1024;

/**
 * What mount-s3 says about its failure, out of the end of its log: one line, of a length that an event can show. It ends
 * with "Error: …" and "Caused by: …"; before that come lines about other things.
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

/** What the object store had against us, by its own words; anything else may pass (PR-1). */
export function mountFailureKind(error: string): ErrorKind {
  return kinds.find(([, words]) => words.test(error))?.[0] ?? "notReady";
}
