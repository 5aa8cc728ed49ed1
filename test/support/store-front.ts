/** Stands before a store on an address of its own: what comes through can be looked at, held up and refused. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { network } from "../../lab/layout.ts";

export interface FrontWish {
  /** It speaks TLS with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** How far the clock in its answers is ahead. */
  readonly clockAheadMs?: number;
  /** Gives the code with which a request is refused. */
  readonly refuses?: (incoming: IncomingMessage) => number | undefined;
}

export class StoreFront implements AsyncDisposable {
  /** Connections are closed without an answer. */
  isAway = false;
  /** Requests that came while it was away. */
  unanswered = 0;
  /** Bodies of requests and of the answers to them, refusals included, oldest first. */
  readonly exchanges: { readonly asked: string; readonly answered: string; readonly tookMs: number }[] = [];
  readonly #target: string;
  readonly #wish: FrontWish;
  readonly #server;

  private constructor(target: string, wish: FrontWish) {
    this.#target = target;
    this.#wish = wish;
    const serve = (incoming: IncomingMessage, answer: ServerResponse) => {
      this.#serve(incoming, answer).catch(() => answer.destroy());
    };
    this.#server = wish.tls === undefined ? createServer(serve) : createTlsServer(wish.tls, serve);
  }

  static async open(target: string, wish: FrontWish = {}): Promise<StoreFront> {
    const front = new StoreFront(target, wish);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    front.#server.once("error", reject).listen(0, network.hub, resolve);
    await promise;
    return front;
  }

  get url(): string {
    const scheme = this.#wish.tls === undefined ? "http" : "https";
    return `${scheme}://${network.hub}:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }

  async #serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    if (this.isAway) {
      this.unanswered += 1;
      answer.destroy();
      return;
    }
    const refusal = this.#wish.refuses?.(incoming);
    if (refusal === undefined) await this.#forward(incoming, body, answer);
    else answer.writeHead(refusal).end();
  }

  async #forward({ method, url: path, headers }: IncomingMessage, body: Buffer, answer: ServerResponse): Promise<void> {
    const startedMs = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { hostname, port } = new URL(this.#target);
    const { "transfer-encoding": _chunked, ...others } = headers;
    const forwarded = { ...others, "content-length": body.length };
    request({ hostname, port, method, path, headers: forwarded, agent: false }, resolve)
      .once("error", reject)
      .end(body);
    const response = await promise;
    const answered = await buffer(response);
    const { statusCode = 502 } = response;
    const tookMs = performance.now() - startedMs;
    this.exchanges.push({ asked: body.toString(), answered: answered.toString(), tookMs });
    const { clockAheadMs = 0 } = this.#wish;
    const date = new Date(Date.now() + clockAheadMs).toUTCString();
    answer.writeHead(statusCode, { ...response.headers, date }).end(answered);
  }
}

type Seen = Pick<StoreFront, "exchanges">;

/** Tokens that STS was given, and the keys that it gave for them: nobody else may have them. */
export function secretsOf({ exchanges }: Seen): readonly string[] {
  return exchanges.flatMap(({ asked, answered }) => [
    new URLSearchParams(asked).get("WebIdentityToken") ?? "",
    ...["SecretAccessKey", "SessionToken"].flatMap((name) => elementsIn(answered, name)),
  ]);
}

/** Ids of the access keys of all sessions, oldest first. */
export function sessionKeysOf({ exchanges }: Seen): readonly string[] {
  return exchanges.flatMap(({ answered }) => elementsIn(answered, "AccessKeyId"));
}

function elementsIn(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]+)</${name}>`, "g"))].map(([, text = ""]) => text);
}
