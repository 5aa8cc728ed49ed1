/** Passes states on to all open pages, as differences to what each of them has. */
import type { ClusterConnection, FeedMessage, PageState } from "./page-state.ts";
import type { RatesByPod } from "./rates.ts";
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
  readonly #changes = new Changes();
  #state: PageState | undefined;
  #connection: ClusterConnection = { problem: "", since: new Date().toISOString() };
  #rates: RatesByPod | undefined;

  get isWatched(): boolean {
    return this.#readers.size > 0;
  }

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

  /** A page that reads slowly gets the next ones. */
  setRates(rates: RatesByPod): void {
    this.#rates = rates;
    for (const reader of this.#readers) reader.show(rates);
  }

  keepAlive(): void {
    for (const reader of this.#readers) reader.keepAlive();
  }

  subscribe(reader: Reader): Subscription {
    const subscribed = new FeedReader(reader, this.#changes);
    this.#readers.add(subscribed);
    subscribed.catchUp(this.#state, this.#connection);
    if (this.#rates !== undefined) subscribed.show(this.#rates);
    return {
      ready: () => {
        subscribed.isReady = true;
        subscribed.catchUp(this.#state, this.#connection);
      },
      end: () => {
        this.#readers.delete(subscribed);
        // Nobody reads rates any more: the next page must not get old ones.
        if (!this.isWatched) this.#rates = undefined;
      },
    };
  }
}

/** A page that skipped more states than this gets the latest one whole: what it has is no longer kept for it. Ten seconds of changes. */
const mostSkipped = 50;

/** What one page has. A page that reads slowly skips states: it gets the difference to the latest one when it has caught up. */
class FeedReader {
  readonly #reader: Reader;
  readonly #changes: Changes;
  isReady = true;
  #state: PageState | undefined;
  #skipped = 0;
  #connection: ClusterConnection | undefined;

  constructor(reader: Reader, changes: Changes) {
    this.#reader = reader;
    this.#changes = changes;
  }

  catchUp(state: PageState | undefined, connection: ClusterConnection): void {
    if (this.isReady && this.#connection !== connection) {
      this.#connection = connection;
      this.#send({ type: "connection", connection });
    }
    if (state === undefined || this.#state === state) return;
    if (!this.isReady) {
      this.#skip();
      return;
    }
    const message = this.#changes.between(this.#state, state);
    this.#state = state;
    this.#skipped = 0;
    if (message !== undefined) this.#send(message);
  }

  /** States of a large cluster take megabytes: a viewer that does not read must not hold one of its own. */
  #skip(): void {
    this.#skipped += 1;
    if (this.#skipped > mostSkipped) this.#state = undefined;
  }

  show(rates: RatesByPod): void {
    if (this.isReady) this.#send({ type: "rates", rates });
  }

  keepAlive(): void {
    if (this.isReady) this.#send({ type: "alive" });
  }

  #send(message: FeedMessage): void {
    this.isReady = this.#reader.send(message);
  }
}

/** Most pages have the same state, so a difference is made once for all of them. */
class Changes {
  #after: PageState | undefined;
  readonly #messages = new Map<PageState | undefined, FeedMessage | undefined>();

  between(before: PageState | undefined, after: PageState): FeedMessage | undefined {
    if (this.#after !== after) this.#messages.clear();
    this.#after = after;
    if (!this.#messages.has(before)) this.#messages.set(before, messageBetween(before, after));
    return this.#messages.get(before);
  }
}

function messageBetween(before: PageState | undefined, after: PageState): FeedMessage | undefined {
  if (before === undefined) return { type: "state", state: after };
  const change = changeBetween(before, after);
  return change && { type: "change", change };
}
