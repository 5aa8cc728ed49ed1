import { DriverError } from "../../core/errors.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { ApiError } from "./api-error.ts";
import { accepted, mayStart, refused, type ServerLoad, unloaded } from "./server-load.ts";

/** How long a request may wait. Below the limits after which a program that makes no progress is restarted. */
const waitLimitMs = 60_000;
/** A server that refuses a request now and then is logged this often. */
const logEveryMs = 60_000;

/**
 * The requests of this process to one API server. While the server refuses requests, fewer of them start, none before the time that
 * the server asks for, and the one that has waited longest first. Does not repeat requests: their failures reach the callers.
 */
export class ServerGate {
  readonly #waiting = new Set<() => void>();
  #load: ServerLoad = unloaded;
  #inProgress = 0;
  #timer: NodeJS.Timeout | undefined;
  #loggedAtMs = -Infinity;

  /** Settles like the request; rejects with a TimeoutError if it cannot start within a minute, and when the call is aborted. */
  async pass<Answer>(call: Call, request: () => Promise<Answer>): Promise<Answer> {
    await this.#enter(call);
    const startedAtMs = performance.now();
    try {
      const answer = await request();
      this.#load = accepted(this.#load);
      return answer;
    } catch (error) {
      this.#judge(call, error, startedAtMs);
      throw error;
    } finally {
      this.#inProgress -= 1;
      this.#admit();
    }
  }

  async #enter(call: Call): Promise<void> {
    call.signal.throwIfAborted();
    if (this.#waiting.size === 0 && mayStart(this.#load, this.#inProgress, performance.now())) {
      this.#inProgress += 1;
      return;
    }
    using limited = deadline(call, waitLimitMs, "the overloaded API server to accept requests again");
    const turn = Promise.withResolvers<void>();
    const start = () => turn.resolve();
    const abort = () => {
      // A caller whose turn has come already has its request in progress, and ends it below.
      if (this.#waiting.delete(start)) turn.reject(limited.signal.reason);
      // The timer would keep a program alive that has nothing else to do.
      if (this.#waiting.size === 0) clearTimeout(this.#timer);
    };
    this.#waiting.add(start);
    limited.signal.addEventListener("abort", abort);
    this.#admit();
    try {
      await turn.promise;
    } finally {
      limited.signal.removeEventListener("abort", abort);
    }
  }

  #admit(): void {
    clearTimeout(this.#timer);
    const nowMs = performance.now();
    for (const start of this.#waiting) {
      if (!mayStart(this.#load, this.#inProgress, nowMs)) break;
      this.#waiting.delete(start);
      this.#inProgress += 1;
      start();
    }
    const pauseMs = this.#load.notBeforeMs - nowMs;
    if (this.#waiting.size > 0 && pauseMs > 0) this.#timer = setTimeout(() => this.#admit(), Math.ceil(pauseMs));
  }

  #judge(call: Call, error: unknown, startedAtMs: number): void {
    if (!isRefusal(error)) {
      // The server did its work and said no. A 500 says nothing about its load.
      if (error instanceof ApiError && !error.isServerState) this.#load = accepted(this.#load);
      return;
    }
    const atMs = performance.now();
    const { retryAfterMs } = error instanceof ApiError ? error : {};
    const refusal = { startedAtMs, atMs, inProgress: this.#inProgress, retryAfterMs, random: Math.random() };
    this.#load = refused(this.#load, refusal);
    if (atMs - this.#loggedAtMs < logEveryMs) return;
    this.#loggedAtMs = atMs;
    const pauseMs = Math.round(this.#load.notBeforeMs - atMs);
    call.log.info("the API server refuses requests, sending fewer", { error, pauseMs, atOnce: this.#load.limit });
  }
}

/** The server has too much to do, or there is no answer. An aborted call says nothing about the server. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError ? error.isOverload : error instanceof DriverError && error.kind === "notReady";
}
