import type { ErrorKind } from "../../core/errors.ts";
import { callFailures, type FailureCause, failureCause } from "../../core/failures/call-failures.ts";

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

/** What the answer of the object store means for the call. Any other failure is considered temporary (PR-1). */
const kinds: Readonly<Partial<Record<FailureCause, ErrorKind>>> = {
  wrongRegion: "invalid",
  clockSkew: "notReady",
  unknownAccessKey: "unauthenticated",
  wrongSecretKey: "unauthenticated",
  expiredToken: "unauthenticated",
  accessDenied: "denied",
  bucketMissing: "missing",
};

/** Classifies the answer of the object store by its text. */
export function mountFailureKind(error: string): ErrorKind {
  const cause = failureCause(error);
  return (cause && kinds[cause]) ?? "notReady";
}

/** What to change, as a complete sentence; undefined if the error is not known. */
export function mountFailureFix(error: string): string | undefined {
  const cause = failureCause(error);
  return cause && callFailures[cause].fix;
}
