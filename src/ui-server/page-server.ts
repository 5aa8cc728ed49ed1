/** Serves the page in the cluster. Its files are the same for everybody and open; the feed is for those whom the API server lets in. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Access } from "../core/access.ts";
import type { Feed } from "../page/feed.ts";
import type { PageFiles } from "../page/page-files.ts";
import { feedPath, pathOf, respondFile, respondText } from "../page/page-responses.ts";
import { aliveMs } from "../page/page-state.ts";
import type { Call } from "../runtime/call.ts";
import { Secret } from "../runtime/secret.ts";
import { plainRefusalOf, refusalOf } from "./admission.ts";
import { certificateIn, isSameCertificate } from "./certificate.ts";
import { Viewers } from "./viewers.ts";

export interface PageParts {
  readonly files: PageFiles;
  readonly feed: Feed;
  /** Never rejects. */
  readonly access: (call: Call, token: Secret, address: string) => Promise<Access>;
  /** How often it is asked whether a viewer still may look. */
  readonly recheckMs: number;
  /** A test has less time. */
  readonly silenceMs?: number;
  /** Called when an answer is complete, that of the feed when the page is closed. */
  readonly onAnswered?: ((answered: Answered) => void) | undefined;
}

export interface Answered {
  readonly what: "feed" | "file";
  /** HTTP status; undefined: the browser left before it got one. */
  readonly code: number | undefined;
}

export interface PageAddress {
  /** 0: any free port. */
  readonly port: number;
  /** Names under which the page is reached, besides `localhost` and addresses. */
  readonly hosts: readonly string[];
  /** Directory with `tls.crt` and `tls.key`; undefined: plain HTTP. */
  readonly tls: string | undefined;
  readonly mostViewers: number;
}

export interface PageServer extends AsyncDisposable {
  readonly port: number;
  /** Pages that are open now. */
  readonly viewers: number;
}

/** Who connects and sends nothing must not use up the connections of others. Node looks for such connections every 30 s unless told otherwise. */
const limits = {
  ...{ headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 5000 },
  connectionsCheckingInterval: 5000,
} as const;
const handshakeTimeout = 10_000;
/** A connection that neither sends nor takes anything for so long is closed. The feed writes every few seconds (`aliveMs`). */
const usualSilenceMs = 60_000;
/** A browser opens six for the files of the page. */
const mostConnections = 512;
const certificateCheckMs = 60_000;

/** Resolves when the port is open, and serves until it is disposed of. Rejects if the port is in use. */
export async function servePage(call: Call, parts: PageParts, address: PageAddress): Promise<PageServer> {
  await using starting = new AsyncDisposableStack();
  const server = address.tls === undefined ? createServer(limits) : tlsServer(call, address.tls, starting);
  server.maxConnections = mostConnections;
  server.setTimeout(parts.silenceMs ?? usualSilenceMs);
  const viewers = new Viewers(parts.feed, { most: address.mostViewers, recheckMs: parts.recheckMs });
  server.on("request", (request, response) => {
    response.on("close", () => parts.onAnswered?.(answeredWith(request, response)));
    answer(call, { ...parts, ...address, viewers }, { request, response }).catch((error: unknown) => {
      call.log.error("the page cannot be served", { error });
      response.destroy();
    });
  });
  server.listen(address.port);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  call.log.info("serving the page", { port, tls: address.tls !== undefined });
  starting.defer(() => closed(server));
  const alive = setInterval(() => parts.feed.keepAlive(), aliveMs);
  starting.defer(() => clearInterval(alive));
  const running = starting.move();
  return {
    port,
    get viewers() {
      return viewers.count;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Serving extends PageParts, PageAddress {
  readonly viewers: Viewers;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function answeredWith({ url }: IncomingMessage, { headersSent, statusCode }: ServerResponse): Answered {
  return { what: pathOf(url) === feedPath ? "feed" : "file", code: headersSent ? statusCode : undefined };
}

const refusals = { unauthenticated: 401, forbidden: 403, unknown: 503 } as const;

async function answer(call: Call, serving: Serving, { request, response }: Exchange): Promise<void> {
  const { method, url, headers } = request;
  const { host, origin, "sec-fetch-site": site } = headers;
  const refusal = refusalOf({ method, url, host, origin, site: site?.toString() }, serving.hosts);
  if (refusal !== undefined) {
    respondText(response, refusal.code, refusal.because);
    return;
  }
  if (pathOf(url) !== feedPath) {
    respondFile(response, serving.files, pathOf(url));
    return;
  }
  const plain = plainRefusalOf(serving.tls !== undefined, request.socket.remoteAddress);
  if (plain !== undefined) {
    respondText(response, plain.code, plain.because);
    return;
  }
  const access = await accessOf(call, serving, request);
  if (access.is !== "allowed") {
    const challenge = access.is === "unauthenticated" ? { "www-authenticate": "Bearer" } : undefined;
    respondText(response, refusals[access.is], access.because, challenge);
    return;
  }
  if (response.destroyed) return; // gone while the API server was asked
  if (serving.viewers.isFull) {
    respondText(response, 503, "too many pages are open: close one, or try again later");
    return;
  }
  await serving.viewers.show(response, () => accessOf(call, serving, request));
}

async function accessOf(call: Call, { access }: PageParts, { headers, socket }: IncomingMessage): Promise<Access> {
  const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? "") ?? [];
  if (token === undefined) return { is: "unauthenticated", because: "log in with a token of the cluster" };
  return await access(call, new Secret(token), socket.remoteAddress ?? "");
}

/** A certificate that was renewed counts for new connections. */
function tlsServer(call: Call, directory: string, stack: AsyncDisposableStack): TlsServer {
  let current = certificateIn(directory);
  const server = createTlsServer({ ...current, ...limits, handshakeTimeout });
  const timer = setInterval(() => {
    try {
      const found = certificateIn(directory);
      if (isSameCertificate(found, current)) return;
      server.setSecureContext(found);
      current = found;
      call.log.info("the certificate was renewed");
    } catch (error) {
      call.log.error("a new certificate cannot be used, the former one stays", { error });
    }
  }, certificateCheckMs);
  stack.defer(() => clearInterval(timer));
  return server;
}

async function closed(server: Server | TlsServer): Promise<void> {
  const end = once(server, "close");
  server.close();
  server.closeAllConnections();
  await end;
}
