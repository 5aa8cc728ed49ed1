/** Passes states on to all open pages, as differences to what each of them has. */
import type { ClusterConnection, FeedMessage, PageState } from "./page-state.ts";
import { changeBetween } from "./state-change.ts";

/** An open page. */
export interface Reader {
  /** False: it reads slowly, and `ready` of its Subscription will be called when it has caught up. */
  readonly send: (message: FeedMessage) => boolean;
}

export interface Subscription {
  readonly ready: () => void;
  readonly end: () => void;
}

export class Feed {
  readonly #readers = new Set<FeedReader>();
  #state: PageState | undefined;
  #connection: ClusterConnection = { problem: "", since: new Date().toISOString() };

  setState(state: PageState): void {
    this.#state = state;
    for (const reader of this.#readers) reader.catchUp(state, this.#connection);
  }

  setConnection(problem: string): void {
    if (this.#connection.problem === problem) return;
    const wasLost = this.#connection.problem !== "" && problem !== "";
    this.#connection = { problem, since: wasLost ? this.#connection.since : new Date().toISOString() };
    for (const reader of this.#readers) reader.catchUp(this.#state, this.#connection);
  }

  keepAlive(): void {
    for (const reader of this.#readers) reader.keepAlive();
  }

  subscribe(reader: Reader): Subscription {
    const subscribed = new FeedReader(reader);
    this.#readers.add(subscribed);
    subscribed.catchUp(this.#state, this.#connection);
    return {
      ready: () => {
        subscribed.isReady = true;
        subscribed.catchUp(this.#state, this.#connection);
      },
      end: () => void this.#readers.delete(subscribed),
    };
  }
}

/** What one page has. A page that reads slowly skips states: it gets the difference to the latest one when it has caught up. */
class FeedReader {
  readonly #reader: Reader;
  isReady = true;
  #state: PageState | undefined;
  #connection: ClusterConnection | undefined;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  catchUp(state: PageState | undefined, connection: ClusterConnection): void {
    if (this.isReady && this.#connection !== connection) {
      this.#connection = connection;
      this.#send({ type: "connection", connection });
    }
    if (this.isReady && state !== undefined && this.#state !== state) {
      const message = this.#messageFor(state);
      this.#state = state;
      if (message !== undefined) this.#send(message);
    }
  }

  keepAlive(): void {
    if (this.isReady) this.#send({ type: "alive" });
  }

  #messageFor(state: PageState): FeedMessage | undefined {
    if (this.#state === undefined) return { type: "state", state };
    const change = changeBetween(this.#state, state);
    return change && { type: "change", change };
  }

  #send(message: FeedMessage): void {
    this.isReady = this.#reader.send(message);
  }
}
