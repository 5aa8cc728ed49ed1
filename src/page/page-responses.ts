/** The answers that a browser gets, whoever serves the page. */
import type { ServerResponse } from "node:http";
import type { Feed, Subscription } from "./feed.ts";
import type { PageFiles } from "./page-files.ts";
import type { FeedMessage } from "./page-state.ts";

export const feedPath = "/feed";

/**
 * Nothing of another origin, no inline script or style; with Trusted Types no text can become markup or script, whatever the page's
 * code does.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const headers = {
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
} as const;

export function pathOf(url: string | undefined): string {
  return url?.split("?")[0] ?? "";
}

export function respondFile(response: ServerResponse, files: PageFiles, path: string): void {
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (file === undefined) respondText(response, 404, "there is no such page");
  else response.writeHead(200, { ...headers, "content-type": `${file.type}; charset=utf-8` }).end(file.text);
}

/** A sentence for the reader, and where it is of use, headers for the browser. */
export function respondText(
  response: ServerResponse,
  code: number,
  sentence: string,
  more: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(code, { ...headers, ...more, "content-type": "text/plain; charset=utf-8" }).end(`${sentence}\n`);
}

/** Until the connection is closed, or the result is ended: then the caller must end the response. */
export function streamFeed(response: ServerResponse, feed: Feed): Subscription {
  // A connection that breaks is closed, which is all that has to be known.
  response.on("error", () => undefined);
  response.writeHead(200, { ...headers, "content-type": "application/x-ndjson; charset=utf-8" });
  response.flushHeaders();
  const subscription = feed.subscribe({ send: (message) => response.write(lineOf(message)) });
  response.on("drain", subscription.ready);
  response.on("close", subscription.end);
  return subscription;
}

/** Pages get the same messages, so each is made a text once. */
const lines = new WeakMap<FeedMessage, string>();

function lineOf(message: FeedMessage): string {
  const line = lines.get(message) ?? `${JSON.stringify(message)}\n`;
  lines.set(message, line);
  return line;
}
