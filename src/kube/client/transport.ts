/** Exchanges with one API server over kept-alive HTTP/1.1: what is sent, what comes back, and what went wrong between. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { apiErrorFrom } from "./api-error.ts";
import type { Credentials } from "./credentials.ts";
import { LineSplitter } from "./lines.ts";
import { TlsAgent } from "./tls-agent.ts";

export interface Exchange {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query below the server's address. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: "application/json" | "application/merge-patch+json" | "application/apply-patch+yaml";
}

export interface TransportOptions {
  readonly userAgent: string;
  /** How long an answer may take; the API server itself gives up after 60 s. */
  readonly answerLimitMs?: number;
  /** How long a stream may be silent; a watch gets a bookmark about every minute. */
  readonly silenceLimitMs?: number;
}

/** A page of 500 large objects fits; a runaway answer does not fill the memory. */
const answerLimitBytes = 64 * 1024 * 1024;
/** etcd holds no object above 1.5 MB unless told to. */
const lineLimitBytes = 16 * 1024 * 1024;

/** Below the 90 s after which the API server closes idle connections, so that we rarely write into a closed one. */
const idleSocketMs = 60_000;
/** The kernel then probes every second, ten times (libuv's setting), so a vanished peer is noticed in 40 s. */
const keepAliveProbeMs = 30_000;

export class Transport implements Disposable {
  readonly #credentials: Credentials;
  readonly #options: Required<TransportOptions>;
  readonly #agent: HttpAgent;
  readonly #request: (options: RequestOptions) => ReturnType<typeof httpRequest>;

  constructor(credentials: Credentials, options: TransportOptions) {
    this.#credentials = credentials;
    this.#options = { answerLimitMs: 65_000, silenceLimitMs: 150_000, ...options };
    const keepAlive = { keepAlive: true, keepAliveMsecs: keepAliveProbeMs, timeout: idleSocketMs };
    if (credentials.server.protocol === "http:") {
      this.#agent = new HttpAgent(keepAlive); // `kubectl proxy`
      this.#request = httpRequest;
    } else {
      this.#agent = new TlsAgent(credentials, keepAlive);
      this.#request = httpsRequest;
    }
  }

  /**
   * One exchange of JSON. A kept-alive connection may have been closed by the server, or the server restarted, in the
   * moment we wrote: such a failure is repeated once if repeating is harmless.
   */
  async json(call: Call, exchange: Exchange): Promise<unknown> {
    try {
      return await this.#exchange(call, exchange);
    } catch (error) {
      if (exchange.method === "POST" || !wasCut(error)) throw error;
      this.#dropIdleConnections();
      return await this.#exchange(call, exchange);
    }
  }

  /** An answer that is no JSON. */
  async text(call: Call, path: string): Promise<string> {
    return await this.#text(call, { method: "GET", path });
  }

  /** Opens an endless answer; the promise is kept once the server agreed. */
  async lines(call: Call, path: string): Promise<AsyncGenerator<string>> {
    const answer = await this.#accepted(call, { method: "GET", path }, this.#options.silenceLimitMs);
    return linesOf(this.#chunks(call, answer));
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #exchange(call: Call, exchange: Exchange): Promise<unknown> {
    const text = await this.#text(call, exchange);
    return text === "" ? undefined : JSON.parse(text);
  }

  async #text(call: Call, exchange: Exchange): Promise<string> {
    const answer = await this.#accepted(call, exchange, this.#options.answerLimitMs);
    return await textOf(this.#chunks(call, answer));
  }

  async #accepted(call: Call, exchange: Exchange, silenceMs: number): Promise<Answer> {
    let answer: Answer;
    try {
      answer = await this.#send(call, exchange, silenceMs);
    } catch (error) {
      throw this.#failure(call, error);
    }
    const code = answer.response.statusCode ?? 0;
    if (code >= 200 && code < 300) return answer;
    throw apiErrorFrom(code, await textOf(this.#chunks(call, answer)));
  }

  #send(call: Call, exchange: Exchange, silenceMs: number): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const payload = exchange.body === undefined ? undefined : Buffer.from(JSON.stringify(exchange.body));
    const request = this.#request(this.#requestOptions(call, exchange));
    let response: IncomingMessage | undefined;
    // Not the socket's own timeout: that one takes bytes still in its send queue for a sign of life.
    const clock = setTimeout(() => (response ?? request).destroy(new SilenceError(silenceMs)), silenceMs);
    request.on("error", (error) => {
      // Stays for the whole exchange: a late error without a listener would end the process.
      clearTimeout(clock);
      reject(error);
    });
    request.once("response", (message) => {
      response = message;
      resolve({ response, clock });
    });
    // Node announces no length for a DELETE by itself: its body, the preconditions, would be taken for the next request.
    if (payload !== undefined) request.setHeader("content-length", payload.length);
    request.end(payload);
    return promise;
  }

  async *#chunks(call: Call, { response, clock }: Answer): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response) {
        clock.refresh();
        yield chunk as Buffer;
      }
    } catch (error) {
      throw this.#failure(call, error);
    } finally {
      clearTimeout(clock);
    }
  }

  #requestOptions(call: Call, exchange: Exchange): RequestOptions {
    const { server } = this.#credentials;
    const token = this.#credentials.token();
    return {
      agent: this.#agent,
      // The URL keeps the brackets of an IPv6 address; connecting needs it without.
      host: server.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: server.port,
      method: exchange.method,
      path: `${server.pathname.replace(/\/$/, "")}${exchange.path}`,
      signal: call.signal,
      headers: {
        accept: "application/json",
        "user-agent": this.#options.userAgent,
        ...(exchange.body && { "content-type": exchange.contentType ?? "application/json" }),
        ...(token && { authorization: `Bearer ${token.reveal()}` }),
      },
    };
  }

  /** Everything but an answer: the caller gave up, or the connection failed. */
  #failure(call: Call, cause: unknown): Error {
    if (call.signal.aborted) return call.signal.reason as Error;
    const { host } = this.#credentials.server;
    return new DriverError("notReady", `the connection to the Kubernetes API server ${host} failed`, { cause });
  }

  /** When one kept connection turns out to be dead, its idle siblings of the same age are dead, too. */
  #dropIdleConnections(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }
}

/** An accepted or refused request whose body is still to be read, and the clock that ends it when nothing comes. */
interface Answer {
  readonly response: IncomingMessage;
  readonly clock: NodeJS.Timeout;
}

async function* linesOf(chunks: AsyncGenerator<Buffer>): AsyncGenerator<string> {
  const splitter = new LineSplitter(lineLimitBytes);
  for await (const chunk of chunks) yield* splitter.push(chunk);
}

async function textOf(chunks: AsyncGenerator<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > answerLimitBytes) throw new Error(`an answer is longer than ${answerLimitBytes} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}

/** The other side is connected and says nothing: stopped, or behind a proxy that outlives it. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";

  constructor(afterMs: number) {
    super(`nothing was received for ${afterMs} ms`);
  }
}

function wasCut(error: unknown): boolean {
  return error instanceof DriverError && isErrno(error.cause, "ECONNRESET", "EPIPE");
}
