/** One term of a leader. */
import type { Call } from "../../runtime/call.ts";
import type { Logger } from "../../runtime/log.ts";
import { nowWithSuspendMs } from "../../runtime/suspend-clock.ts";
import type { KubeClient } from "../client/client.ts";
import type { GuardedCall } from "../client/transport.ts";

/** A call that is aborted when the term ends. */
export class Term implements Call {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  #untilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `untilMs` is a moment of `nowWithSuspendMs()`; Infinity: for as long as the call lasts. */
  constructor(call: Call, untilMs: number) {
    this.log = call.log;
    this.signal = AbortSignal.any([call.signal, this.#over.signal]);
    this.extend(untilMs);
  }

  extend(untilMs: number): void {
    clearTimeout(this.#timer);
    this.#untilMs = untilMs;
    if (untilMs !== Infinity) this.#timer = setTimeout(() => this.#endIfDue(), untilMs - nowWithSuspendMs());
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#over.abort(new DOMException("another may lead now", "AbortError"));
  }

  get isOver(): boolean {
    this.#endIfDue();
    return this.signal.aborted;
  }

  /**
   * A client that refuses to write after the term. A timer is not enough for that: a process that was frozen handles the answers
   * that arrived in the meantime before it runs its timers.
   */
  writer(client: Writer): Writer {
    const check = () => {
      this.#endIfDue();
      this.signal.throwIfAborted();
    };
    // The client checks again after it has waited for an overloaded server.
    const guarded = ({ signal, log }: Call): GuardedCall => ({ signal, log, guard: check });
    return {
      create: async (call, kind, object) => {
        check();
        return await client.create(guarded(call), kind, object);
      },
      patch: async (call, kind, ref, patch) => {
        check();
        return await client.patch(guarded(call), kind, ref, patch);
      },
      applyStatus: async (call, kind, ref, applied) => {
        check();
        return await client.applyStatus(guarded(call), kind, ref, applied);
      },
      delete: async (call, kind, ref, preconditions) => {
        check();
        await client.delete(guarded(call), kind, ref, preconditions);
      },
    };
  }

  #endIfDue(): void {
    if (nowWithSuspendMs() >= this.#untilMs) this.end();
  }
}

type Writer = Pick<KubeClient, "create" | "patch" | "applyStatus" | "delete">;
