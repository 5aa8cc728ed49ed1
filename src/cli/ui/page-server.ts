/** Serves the page and its feed on the loopback address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { UserError } from "../user-error.ts";
import { type Admitted, feedPath, refusalOf } from "./admission.ts";
import type { Feed } from "./feed.ts";
import type { PageFiles } from "./page-files.ts";
import { aliveMs } from "./page-state.ts";

export interface PageParts {
  readonly files: PageFiles;
  readonly feed: Feed;
  readonly token: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface PageServer {
  /** With the token in its fragment, which a browser sends to no server. */
  readonly address: string;
  /** Resolves when all connections are closed. */
  readonly close: () => Promise<void>;
}

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

export async function startPageServer({ files, feed, token, port }: PageParts): Promise<PageServer> {
  const server = createServer();
  const bound = await listening(server, port);
  const admitted: Admitted = { port: bound, token };
  server.on("request", (request, response) => answer(request, response, { admitted, files, feed }));
  const timer = setInterval(() => feed.keepAlive(), aliveMs);
  return {
    address: `http://127.0.0.1:${bound}/#token=${token}`,
    close: async () => {
      clearInterval(timer);
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

interface Answering {
  readonly admitted: Admitted;
  readonly files: PageFiles;
  readonly feed: Feed;
}

function answer(request: IncomingMessage, response: ServerResponse, { admitted, files, feed }: Answering): void {
  const { method, url: path, headers: sent } = request;
  const { host, origin, authorization } = sent;
  const refusal = refusalOf({ method, path, host, origin, authorization }, admitted);
  if (refusal !== undefined) {
    respond(response, refusal.code, "text/plain", `${refusal.message}\n`);
    return;
  }
  const name = path?.split("?")[0] ?? "";
  if (name === feedPath) {
    stream(response, feed);
    return;
  }
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) respond(response, 404, "text/plain", "there is no such page\n");
  else respond(response, 200, file.type, file.text);
}

function respond(response: ServerResponse, code: number, type: string, text: string): void {
  response.writeHead(code, { ...headers, "content-type": `${type}; charset=utf-8` }).end(text);
}

function stream(response: ServerResponse, feed: Feed): void {
  response.writeHead(200, { ...headers, "content-type": "application/x-ndjson; charset=utf-8" });
  response.flushHeaders();
  const subscription = feed.subscribe({ send: (message) => response.write(`${JSON.stringify(message)}\n`) });
  response.on("drain", subscription.ready);
  response.on("close", subscription.end);
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => reject(portError(cause, port)));
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

function portError(cause: NodeJS.ErrnoException, port: number): Error {
  if (cause.code !== "EADDRINUSE") return cause;
  return new UserError(`--port ${port} is in use`, "choose another port, or none: the plugin then takes a free one");
}
