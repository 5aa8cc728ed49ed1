/** Writes Events to the API server, and counts repetitions of the same Event instead of creating new ones. */
import { createHash } from "node:crypto";
import { type EventReason, eventCatalogue } from "../core/failures/event-catalogue.ts";
import type { Call } from "../runtime/call.ts";
import { ApiError } from "./client/api-error.ts";
import type { KubeClient } from "./client/client.ts";
import { type Kind, kinds } from "./kinds.ts";

export interface Happening {
  readonly reason: EventReason;
  /** The cause, for people. The fix follows, here or in `fix`. */
  readonly message: string;
  /** What to do: is kept when a long message is cut. A complete sentence. */
  readonly fix?: string | undefined;
}

/** The object an event is about. */
export interface About {
  readonly kind: Kind<unknown>;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined; readonly uid: string };
}

export interface EventSource {
  /** The program that emits the event. */
  readonly component: string;
  /** Its node, if that matters. */
  readonly host?: string;
}

/** An event that occurred `times` times since it was written last. */
export interface Occurred {
  readonly about: About;
  readonly happening: Happening;
  readonly times: number;
}

/** Repetitions are counted, and the count is written after this time, then after twice the time, and so on. */
const firstRewriteMs = 10_000;
/** An Event that goes on is written at least this often: the API server deletes Events that are not written for an hour. */
const lastRewriteMs = 600_000;
/**
 * How many Events to remember: those of a cluster with a problem on every volume. The least recently used is forgotten; when it
 * occurs again, the API server has its count.
 */
const rememberedEvents = 10_000;

interface Written {
  count: number;
  rewriteAtMs: number;
  rewriteAfterMs: number;
}

export class EventWriter {
  readonly #client: Pick<KubeClient, "create" | "patch">;
  readonly #source: EventSource;
  /** By the name of the Event, in the order of last use. */
  readonly #written = new Map<string, Written>();

  constructor(client: Pick<KubeClient, "create" | "patch">, source: EventSource) {
    this.#client = client;
    this.#source = source;
  }

  /** The same event has the same name, so that its creation is refused (AlreadyExists) when we have forgotten it. */
  nameOf({ metadata }: About, { reason, message }: Happening): string {
    const { component, host = "" } = this.#source;
    const { type } = eventCatalogue[reason];
    const identity = [component, host, metadata.uid, type, reason, message].join("\n");
    return `${metadata.name.slice(0, 230)}.${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
  }

  /** Returns true if it is enough to count the repetition of an Event that was written a short time ago. */
  counts(name: string, { times }: Occurred): boolean {
    const known = this.#written.get(name);
    if (known === undefined || performance.now() >= known.rewriteAtMs) return false;
    this.#remember(name, known);
    known.count += times;
    return true;
  }

  async write(call: Call, name: string, occurred: Occurred): Promise<void> {
    const known = this.#written.get(name);
    if (known === undefined) return await this.#create(call, name, occurred);
    try {
      const count = known.count + occurred.times;
      await this.#client.patch(call, kinds.events, refOf(name, occurred), { count, lastTimestamp: now() });
      this.#remember(name, { count, ...rewriteAfter(2 * known.rewriteAfterMs) });
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error;
      await this.#create(call, name, occurred); // the server keeps Events for an hour
    }
  }

  async #create(call: Call, name: string, occurred: Occurred): Promise<void> {
    const { about, happening, times } = occurred;
    const time = now();
    const event = {
      metadata: refOf(name, occurred),
      involvedObject: { apiVersion: about.kind.apiVersion, kind: about.kind.kind, ...about.metadata },
      type: eventCatalogue[happening.reason].type,
      reason: happening.reason,
      message: happening.message,
      count: times,
      firstTimestamp: time,
      lastTimestamp: time,
      source: this.#source,
      reportingComponent: this.#source.component,
    };
    try {
      await this.#client.create(call, kinds.events, event);
      this.#remember(name, { count: times, ...rewriteAfter(firstRewriteMs) });
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      await this.#countOn(call, name, occurred);
    }
  }

  /** The event exists since before we forgot it, or before our start. We may not read events, but a patch answers with the object. */
  async #countOn(call: Call, name: string, occurred: Occurred): Promise<void> {
    const ref = refOf(name, occurred);
    const { count: before = 1 } = await this.#client.patch(call, kinds.events, ref, { lastTimestamp: now() });
    const count = before + occurred.times;
    await this.#client.patch(call, kinds.events, ref, { count });
    this.#remember(name, { count, ...rewriteAfter(firstRewriteMs) });
  }

  #remember(name: string, written: Written): void {
    this.#written.delete(name);
    this.#written.set(name, written);
    const { value: oldest } = this.#written.keys().next();
    if (this.#written.size > rememberedEvents && oldest !== undefined) this.#written.delete(oldest);
  }
}

function rewriteAfter(wantedMs: number): Pick<Written, "rewriteAtMs" | "rewriteAfterMs"> {
  const rewriteAfterMs = Math.min(wantedMs, lastRewriteMs);
  return { rewriteAfterMs, rewriteAtMs: performance.now() + rewriteAfterMs };
}

/** Events about objects without a namespace live in `default`; the API server insists. */
function refOf(name: string, { about }: Occurred): { readonly name: string; readonly namespace: string } {
  return { name, namespace: about.metadata.namespace ?? "default" };
}

/** Events carry whole seconds. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}
