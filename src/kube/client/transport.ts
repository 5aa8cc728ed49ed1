/** HTTP/1.1 requests to one API server, over connections that are kept alive. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { apiErrorFrom } from "./api-error.ts";
import type { Credentials } from "./credentials.ts";
import { LineSplitter } from "./lines.ts";
import { type RequestName, requestName } from "./request-name.ts";
import { ServerGate } from "./server-gate.ts";
import { SilenceTimer } from "./silence-timer.ts";
import { TlsAgent } from "./tls-agent.ts";

export interface Exchange {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query below the server's address. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: "application/json" | "application/merge-patch+json" | "application/apply-patch+yaml";
  /** Does not wait while the API server refuses requests: for leases, which are lost by then. */
  readonly isUrgent?: boolean;
}

/** A call whose requests need a permission at the moment they are sent. */
export interface GuardedCall extends Call {
  /** Called after every wait, right before a request is sent. Throws if the request must not be sent any more. */
  readonly guard?: () => void;
}

export interface TransportOptions {
  readonly userAgent: string;
  /** How long an answer may take. The API server itself gives up after 60 s. */
  readonly answerLimitMs?: number;
  /** How long a stream may be silent. A watch gets a bookmark about every minute. */
  readonly silenceLimitMs?: number;
  /** Called for every request, also for one that is repeated. Must not throw. */
  readonly onAnswered?: (answered: AnsweredRequest) => void;
}

/** A request that was answered, or failed. */
export interface AnsweredRequest extends RequestName {
  /** The HTTP status; undefined: there was no answer. */
  readonly code: number | undefined;
  /** Until the first bytes of the answer. */
  readonly seconds: number;
}

/** A runaway answer does not fill the memory. */
const answerLimitBytes = 64 * 1024 * 1024;
/** etcd refuses objects above 1.5 MB by default. */
const lineLimitBytes = 16 * 1024 * 1024;

/** Below the 90 s after which the API server closes idle connections, so that requests rarely meet a closed one. */
const idleSocketMs = 60_000;
/** After this the kernel probes every second, ten times (set by libuv), so it notices a vanished peer within 40 s. */
const keepAliveProbeMs = 30_000;

export class Transport implements Disposable {
  readonly #credentials: Credentials;
  readonly #options: Required<TransportOptions>;
  readonly #gate = new ServerGate();
  readonly #agent: HttpAgent;
  /**
   * Every stream gets a connection of its own, which is closed with it: on a kept connection a stream that was cut would return to the
   * server that cut it. A new connection goes where the load balancer sends it.
   */
  readonly #streamAgent: HttpAgent;
  readonly #request: (options: RequestOptions) => ReturnType<typeof httpRequest>;

  constructor(credentials: Credentials, options: TransportOptions) {
    this.#credentials = credentials;
    this.#options = { answerLimitMs: 65_000, silenceLimitMs: 150_000, onAnswered: () => undefined, ...options };
    this.#agent = agentFor(credentials);
    this.#streamAgent = agentFor(credentials);
    this.#streamAgent.keepSocketAlive = () => false;
    this.#request = credentials.server.protocol === "http:" ? httpRequest : httpsRequest;
  }

  /**
   * One request with a JSON answer. The server may close a kept-alive connection, or restart, in the moment of the request: such a
   * failure is repeated once, except for a POST, which may have been performed.
   */
  async json(call: GuardedCall, exchange: Exchange): Promise<unknown> {
    const send = async () => {
      const text = await this.#repeated(call, exchange, answerLimitBytes);
      return text === "" ? undefined : (JSON.parse(text) as unknown);
    };
    return exchange.isUrgent ? await send() : await this.#gate.pass(call, send);
  }

  /**
   * The text of one answer. Rejects with an AnswerTooLargeError if the text is longer than the limit. Does not wait while the API server
   * refuses requests: for lists, which have a back-off of their own.
   */
  async text(call: Call, path: string, limitBytes = answerLimitBytes): Promise<string> {
    return await this.#repeated(call, { method: "GET", path }, limitBytes);
  }

  /** Resolves when the server has accepted the request; its answer is a stream of lines without an end. */
  async lines(call: Call, path: string): Promise<AsyncGenerator<string>> {
    const answer = await this.#accepted(call, { method: "GET", path, isStream: true }, this.#options.silenceLimitMs);
    return linesOf(this.#chunks(call, answer));
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
    this.#streamAgent.destroy();
  }

  async #repeated(call: GuardedCall, exchange: Exchange, limitBytes: number): Promise<string> {
    try {
      return await this.#exchange(call, exchange, limitBytes);
    } catch (error) {
      if (exchange.method === "POST" || !wasCut(error)) throw error;
      this.#dropIdleConnections();
      return await this.#exchange(call, exchange, limitBytes);
    }
  }

  async #exchange(call: GuardedCall, exchange: Exchange, limitBytes: number): Promise<string> {
    call.guard?.();
    const answer = await this.#accepted(call, exchange, this.#options.answerLimitMs);
    return await textOf(this.#chunks(call, answer), limitBytes);
  }

  async #accepted(call: Call, exchange: AnyExchange, silenceMs: number): Promise<Answer> {
    let answer: Answer;
    const startedAtMs = performance.now();
    const answered = (code: number | undefined) => {
      const seconds = (performance.now() - startedAtMs) / 1000;
      this.#options.onAnswered({ ...requestName(exchange.method, exchange.path), code, seconds });
    };
    try {
      answer = await this.#send(call, exchange, silenceMs);
      answered(answer.response.statusCode);
    } catch (error) {
      // A call that was aborted says nothing about the server.
      if (!call.signal.aborted) answered(undefined);
      throw this.#failure(call, error);
    }
    const code = answer.response.statusCode ?? 0;
    if (code >= 200 && code < 300) return answer;
    throw apiErrorFrom(
      code,
      await textOf(this.#chunks(call, answer), answerLimitBytes),
      answer.response.headers["retry-after"],
    );
  }

  #send(call: Call, exchange: AnyExchange, silenceMs: number): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const payload = exchange.body === undefined ? undefined : Buffer.from(JSON.stringify(exchange.body));
    const request = this.#request(this.#requestOptions(call, exchange));
    let response: IncomingMessage | undefined;
    // Not the timeout of the socket: it takes bytes in the send queue for a sign of life.
    const silence = new SilenceTimer(silenceMs, () => (response ?? request).destroy(new SilenceError(silenceMs)));
    request.on("error", (error) => {
      // Stays for the whole request: a late error without a listener would end the process.
      silence.stop();
      reject(error);
    });
    request.once("response", (message) => {
      response = message;
      resolve({ response, silence });
    });
    // Node sends no content-length for a DELETE, so the server would take its body, the preconditions, for the next request.
    if (payload !== undefined) request.setHeader("content-length", payload.length);
    request.end(payload);
    return promise;
  }

  async *#chunks(call: Call, { response, silence }: Answer): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response) {
        silence.heard();
        yield chunk as Buffer;
      }
    } catch (error) {
      throw this.#failure(call, error);
    } finally {
      silence.stop();
    }
  }

  #requestOptions(call: Call, exchange: AnyExchange): RequestOptions {
    const { server } = this.#credentials;
    const token = this.#credentials.token();
    return {
      agent: exchange.isStream ? this.#streamAgent : this.#agent,
      // A URL has an IPv6 address in brackets; connect(2) needs it without.
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

  /** There is no answer: the caller gave up, or the connection failed. */
  #failure(call: Call, cause: unknown): Error {
    if (call.signal.aborted) return call.signal.reason as Error;
    const { host } = this.#credentials.server;
    return new DriverError("notReady", `the connection to the Kubernetes API server ${host} failed`, { cause });
  }

  /** If one kept connection is dead, idle connections of the same age are probably dead, too. */
  #dropIdleConnections(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }
}

type AnyExchange = Exchange & { readonly isStream?: boolean };

function agentFor(credentials: Credentials): HttpAgent {
  const keepAlive = { keepAlive: true, keepAliveMsecs: keepAliveProbeMs, timeout: idleSocketMs };
  // http: `kubectl proxy`
  return credentials.server.protocol === "http:" ? new HttpAgent(keepAlive) : new TlsAgent(credentials, keepAlive);
}

/** An answer whose body is not read yet, and the timer that ends the request when nothing arrives. */
interface Answer {
  readonly response: IncomingMessage;
  readonly silence: SilenceTimer;
}

async function* linesOf(chunks: AsyncGenerator<Buffer>): AsyncGenerator<string> {
  const splitter = new LineSplitter(lineLimitBytes);
  for await (const chunk of chunks) yield* splitter.push(chunk);
}

async function textOf(chunks: AsyncGenerator<Buffer>, limitBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw new AnswerTooLargeError(limitBytes);
    parts.push(chunk);
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}

/** The rest of the answer was not read, so its length is not known. */
export class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";

  constructor(limitBytes: number) {
    super(`an answer is longer than ${limitBytes} bytes`);
  }
}

/** The server is connected and sends nothing: it is stopped, or gone behind a proxy that keeps the connection open. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";

  constructor(afterMs: number) {
    super(`nothing was received for ${afterMs} ms`);
  }
}

function wasCut(error: unknown): boolean {
  return error instanceof DriverError && isErrno(error.cause, "ECONNRESET", "EPIPE");
}
