/** The answer to one watch: a stream of events that arrive in order, late, or never. */
import { DriverError } from "../../src/core/errors.ts";
import type { WatchEvent } from "../../src/kube/client/client.ts";
import { SilenceError } from "../../src/kube/client/transport.ts";
import type { SimulatedProcess } from "./process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** As in the transport of the client. */
const silenceLimitMs = 150_000;

export interface StreamOptions {
  readonly time: VirtualTime;
  readonly process: SimulatedProcess;
  /** How long an event that is sent now is on its way. */
  readonly delayMs: () => number;
  /** Called when the client reads no more. */
  readonly onClose: () => void;
}

export class WatchStream {
  readonly #options: StreamOptions;
  readonly #arrived: WatchEvent<unknown>[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake = Promise.withResolvers<void>();
  #lastAtMs = 0;
  #standsStill = false;
  #cancelSilence: () => void;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#cancelSilence = this.#silence();
  }

  /** Events arrive in the order in which they are sent. */
  send(event: WatchEvent<unknown>): void {
    this.#inOrder(() => {
      this.#arrived.push(event);
      this.#cancelSilence();
      this.#cancelSilence = this.#silence();
    });
  }

  /** The server ends the answer. */
  finish(): void {
    this.#inOrder(() => {
      this.#end ??= { error: undefined };
    });
  }

  /** The connection breaks now. */
  cut(): void {
    this.#options.process.deliver(() => this.#fail(cutConnection("ECONNRESET")));
  }

  /** The connection stays open and nothing arrives any more. */
  standStill(): void {
    this.#standsStill = true;
  }

  async *events(signal: AbortSignal): AsyncGenerator<WatchEvent<unknown>> {
    const abort = () => this.#fail(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    try {
      for (;;) {
        for (let event = this.#arrived.shift(); event !== undefined; event = this.#arrived.shift()) yield event;
        if (this.#end?.error !== undefined) throw this.#end.error;
        if (this.#end !== undefined) return;
        await this.#wake.promise;
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#cancelSilence();
      this.#options.onClose();
    }
  }

  #inOrder(arrive: () => void): void {
    const { time, process, delayMs } = this.#options;
    this.#lastAtMs = Math.max(this.#lastAtMs, time.nowMs + delayMs());
    time.after(this.#lastAtMs - time.nowMs, () => {
      if (this.#standsStill) return;
      process.deliver(() => {
        arrive();
        this.#look();
      });
    });
  }

  #fail(error: Error): void {
    this.#end ??= { error };
    this.#look();
  }

  #look(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  #silence(): () => void {
    const cause = new SilenceError(silenceLimitMs);
    return this.#options.process.timer(silenceLimitMs, () => this.#fail(failedConnection(cause)));
  }
}

export function cutConnection(code: "ECONNRESET"): DriverError {
  return failedConnection(Object.assign(new Error(`read ${code}`), { code }));
}

export function failedConnection(cause: Error): DriverError {
  return new DriverError("notReady", "the connection to the Kubernetes API server failed", { cause });
}
