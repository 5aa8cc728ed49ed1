/** Makes watches list again, and reports when all of them have. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

/** The part of one watch. */
export interface WatchFreshness {
  /** Aborted when the watch must drop its connection and list again. The watch asks for it at every attempt. */
  signal(): AbortSignal;
  /** The watch calls this when it sends its request, and for everything that it receives. */
  received(): void;
  /** The watch calls this when its connection has ended or was refused. */
  lost(): void;
  /** The watch calls this when a list begins that it requested after the last abort. */
  begun(): void;
  /** The watch calls this when the store holds the list that began last. */
  completed(): void;
}

/**
 * A watch may stall without an error: a proxy or a server holds its connection open and sends nothing. The client notices that only
 * after the limit of silence, so one store may be minutes older than another. A caller that must not act on old state renews first.
 */
export class Freshness {
  readonly #members = new Set<Member>();
  #round = 0;
  #progress = Promise.withResolvers<void>();

  /** Adds a watch. The caller must do so before the watch starts. */
  join(name: string): WatchFreshness {
    const member: Member = { name, receivedAtMs: undefined, begun: 0, completed: -1, stop: new AbortController() };
    this.#members.add(member);
    return {
      signal: () => member.stop.signal,
      received: () => {
        member.receivedAtMs = performance.now();
      },
      lost: () => {
        member.receivedAtMs = undefined;
      },
      begun: () => {
        member.begun = this.#round;
      },
      completed: () => {
        member.completed = member.begun;
        this.#progress.resolve();
        this.#progress = Promise.withResolvers();
      },
    };
  }

  /**
   * Whether this watch has a request and has received nothing since this moment of `performance.now()`. One without a request waits for the end
   * of its back-off, which nobody may cut short.
   */
  isSilentSince(name: string, atMs: number): boolean {
    return [...this.#members].some((member) => member.name === name && (member.receivedAtMs ?? Infinity) < atMs);
  }

  /**
   * Resolves when the stores of these watches, by default of all, are at least as new as the start of this call: a list without a
   * version is a consistent read. Rejects when the call is aborted.
   */
  async renew(call: Call, isMeant: (name: string) => boolean = () => true): Promise<void> {
    this.#round += 1;
    const round = this.#round;
    const meant = [...this.#members].filter(({ name }) => isMeant(name));
    for (const member of meant) {
      const { stop } = member;
      member.stop = new AbortController();
      stop.abort();
    }
    while (meant.some(({ completed }) => completed < round)) await orAborted(call, this.#progress.promise);
  }
}

interface Member {
  readonly name: string;
  /** undefined: the watch has no request. */
  receivedAtMs: number | undefined;
  /** The round in which the last list began. */
  begun: number;
  /** The round in which the list began that the store holds. */
  completed: number;
  stop: AbortController;
}
