/** Events: what a user sees in `kubectl describe`. */
import { createHash } from "node:crypto";
import { type Call, deadline } from "../runtime/call.ts";
import { withoutUserInfo } from "../runtime/user-info.ts";
import { ApiError } from "./client/api-error.ts";
import type { KubeClient } from "./client/client.ts";
import { type Kind, kinds } from "./kinds.ts";
import { ProblemLog } from "./problem-log.ts";

export interface Happening {
  readonly type: "Normal" | "Warning";
  /** A CamelCase identifier, for programs. */
  readonly reason: string;
  /** Cause and remedy, for people. */
  readonly message: string;
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

/** How long the recorder may hold up its caller. */
const recordLimitMs = 5000;
/** The first, quick attempts for a key repeat the same event many times. All are counted, and the count is written this often. */
const writeEveryMs = 10_000;
/** How many events to remember. The least recently used is forgotten; when it occurs again, the API server has its count. */
const rememberedEvents = 500;
/** events.k8s.io/v1 refuses longer messages. */
const messageLimit = 1024;

interface Recorded {
  count: number;
  writtenAt: number;
}

/**
 * Emits events, and counts repetitions of the same event instead of creating new ones. Needs the rights to create and patch
 * events, and not the right to read them.
 */
export class EventRecorder {
  readonly #client: Pick<KubeClient, "create" | "patch">;
  readonly #source: EventSource;
  /** By the name of the Event, in the order of last use. */
  readonly #recorded = new Map<string, Recorded>();
  readonly #problems = new ProblemLog();

  constructor(client: Pick<KubeClient, "create" | "patch">, source: EventSource) {
    this.#client = client;
    this.#source = source;
  }

  /** Resolves within 5 seconds and never rejects: if the event cannot be written, the log says so once. */
  async record(call: Call, about: About, happening: Happening): Promise<void> {
    using limited = deadline(call, recordLimitMs, "an Event to be recorded");
    const message = withoutUserInfo(happening.message).slice(0, messageLimit);
    try {
      await this.#write(limited, about, { ...happening, message });
      this.#problems.resolve("events");
    } catch (error) {
      this.#problems.report(call.log, "events", "events cannot be recorded", { reason: happening.reason, error });
    }
  }

  async #write(call: Call, about: About, happening: Happening): Promise<void> {
    const name = this.#nameOf(about, happening);
    const known = this.#recorded.get(name);
    if (known === undefined) {
      await this.#create(call, name, about, happening);
    } else {
      this.#remember(name, known);
      await this.#repeat(call, name, about, { ...happening, known });
    }
  }

  /** The same event has the same name, so that its creation is refused (AlreadyExists) when we have forgotten it. */
  #nameOf({ metadata }: About, { type, reason, message }: Happening): string {
    const { component, host = "" } = this.#source;
    const identity = [component, host, metadata.uid, type, reason, message].join("\n");
    return `${metadata.name.slice(0, 230)}.${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
  }

  async #repeat(call: Call, name: string, about: About, { known, ...happening }: Happening & { known: Recorded }) {
    known.count += 1;
    if (performance.now() - known.writtenAt < writeEveryMs) return;
    known.writtenAt = performance.now();
    const ref = { namespace: namespaceOf(about), name };
    try {
      await this.#client.patch(call, kinds.events, ref, { count: known.count, lastTimestamp: now() });
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error;
      await this.#create(call, name, about, happening); // the server keeps Events for an hour
    }
  }

  async #create(call: Call, name: string, about: About, happening: Happening): Promise<void> {
    // Remembered first: several workers may emit the same event at the same time.
    this.#remember(name, { count: 1, writtenAt: performance.now() });
    const time = now();
    const event = {
      metadata: { name, namespace: namespaceOf(about) },
      involvedObject: { apiVersion: about.kind.apiVersion, kind: about.kind.kind, ...about.metadata },
      ...happening,
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
      source: this.#source,
      reportingComponent: this.#source.component,
    };
    try {
      await this.#client.create(call, kinds.events, event);
    } catch (error) {
      this.#recorded.delete(name);
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
      await this.#countOn(call, name, about);
    }
  }

  /** The event exists since before we forgot it, or before our start. We may not read events, but a patch answers with the object. */
  async #countOn(call: Call, name: string, about: About): Promise<void> {
    const ref = { namespace: namespaceOf(about), name };
    const { count = 1 } = await this.#client.patch(call, kinds.events, ref, { lastTimestamp: now() });
    this.#remember(name, { count: count + 1, writtenAt: performance.now() });
    await this.#client.patch(call, kinds.events, ref, { count: count + 1 });
  }

  #remember(name: string, recorded: Recorded): void {
    this.#recorded.delete(name);
    this.#recorded.set(name, recorded);
    const { value: oldest } = this.#recorded.keys().next();
    if (this.#recorded.size > rememberedEvents && oldest !== undefined) this.#recorded.delete(oldest);
  }
}

/** Events about objects without a namespace live in `default`; the API server insists. */
function namespaceOf(about: About): string {
  return about.metadata.namespace ?? "default";
}

/** Events carry whole seconds. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}
