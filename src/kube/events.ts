/** Events: what a user sees in `kubectl describe`. */
import { boundedWithFix } from "../core/failures/bounded-text.ts";
import { type Call, deadline } from "../runtime/call.ts";
import type { Logger } from "../runtime/log.ts";
import { Pace } from "../runtime/pace.ts";
import { withoutUserInfo } from "../runtime/user-info.ts";
import { ApiError } from "./client/api-error.ts";
import type { KubeClient } from "./client/client.ts";
import { type About, type EventSource, EventWriter, type Happening } from "./event-writer.ts";
import { ProblemLog } from "./problem-log.ts";

/** Different events that wait to be written. An event beyond that is dropped; its problem is observed again, and reported then. */
const waitingLimit = 1000;
/** Events are not urgent: they must not take the requests of the workers. */
const writers = 2;
/** A hundred Pods with a problem are reported at once. Then the API server gets 20 events a second, whatever their number. */
const pace = { burst: 100, everyMs: 50 } as const;
/** Longer than a request waits for an overloaded server. */
const writeLimitMs = 90_000;
/** How often to try to write an event that the server cannot take at the moment. */
const attemptsLimit = 5;
/** How long the end of a program or term waits for the events of its last moments. */
const lastEventsMs = 1000;
/** events.k8s.io/v1 refuses longer messages; it counts bytes. */
const messageBytes = 1024;

interface Waiting {
  readonly log: Logger;
  readonly about: About;
  readonly happening: Happening;
  times: number;
  attempts: number;
}

/**
 * Emits events in the background: never holds up its caller, and never fails. The same event that occurs again is counted instead of
 * written again. Needs the rights to create and patch events, and not the right to read them.
 *
 * The caller must dispose of the recorder, which writes what waits, for a second at most.
 */
export class EventRecorder implements AsyncDisposable {
  readonly #writer: EventWriter;
  readonly #pace = new Pace(pace);
  readonly #stop = new AbortController();
  readonly #problems = new ProblemLog();
  /** By the name of the Event, in the order of arrival. */
  readonly #waiting = new Map<string, Waiting>();
  /** The names of Events that are being written. */
  readonly #inProgress = new Set<string>();
  readonly #writing = new Set<Promise<void>>();
  /** Writers that will still look at what waits. One that has ended is in `#writing` for a moment longer. */
  #busyWriters = 0;

  constructor(client: Pick<KubeClient, "create" | "patch">, source: EventSource) {
    this.#writer = new EventWriter(client, source);
  }

  /** If the event cannot be written, the log of the call says so once. */
  record({ log }: Pick<Call, "log">, about: About, happening: Happening): void {
    const { reason, message, fix } = happening;
    const note = boundedWithFix(withoutUserInfo(message), fix && withoutUserInfo(fix), messageBytes);
    this.#add({ log, about, happening: { reason, message: note }, times: 1, attempts: 0 });
    if (this.#waiting.size === 0 || this.#busyWriters >= writers || this.#stop.signal.aborted) return;
    const writing = this.#writeAll().finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when nothing waits to be written. */
  async flushed(): Promise<void> {
    await Promise.all(this.#writing);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), lastEventsMs);
    await this.flushed();
    clearTimeout(timer);
    this.#stop.abort();
  }

  #add(event: Waiting): void {
    const name = this.#writer.nameOf(event.about, event.happening);
    const same = this.#waiting.get(name);
    if (same !== undefined) same.times += event.times;
    else if (this.#writer.counts(name, event)) return;
    else if (this.#waiting.size < waitingLimit) this.#waiting.set(name, event);
    else {
      const error = new Error(`more than ${waitingLimit} events wait to be written`);
      this.#problems.report(event.log, "queue", "events are dropped", { error });
    }
  }

  async #writeAll(): Promise<void> {
    this.#busyWriters += 1;
    try {
      await this.#writeWaiting();
    } finally {
      this.#busyWriters -= 1;
    }
  }

  async #writeWaiting(): Promise<void> {
    for (const [name, event] of this.#waiting) {
      // The writer that has the event comes to its repetition later.
      if (this.#inProgress.has(name)) continue;
      this.#waiting.delete(name);
      if (this.#writer.counts(name, event)) continue;
      await this.#pace.next(this.#stop);
      if (this.#stop.signal.aborted) return;
      await this.#write(name, event);
    }
    this.#problems.resolve("queue");
  }

  async #write(name: string, event: Waiting): Promise<void> {
    using call = deadline({ log: event.log, signal: this.#stop.signal }, writeLimitMs, "an Event to be written");
    this.#inProgress.add(name);
    try {
      await this.#writer.write(call, name, event);
      this.#problems.resolve("events");
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const { reason } = event.happening;
      this.#problems.report(event.log, "events", "events cannot be recorded", { reason, error });
      const attempts = event.attempts + 1;
      if (mayPass(error) && attempts < attemptsLimit) this.#add({ ...event, attempts });
    } finally {
      this.#inProgress.delete(name);
    }
  }
}

/** The server or the connection fails. A missing right, for example, does not pass. */
function mayPass(error: unknown): boolean {
  return !(error instanceof ApiError) || error.isServerState;
}
