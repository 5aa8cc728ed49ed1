/** One collection of the API server, kept up to date by list and watch. */
import type { KubeObject } from "../topology/objects.ts";
import { type ClusterApi, isRefused } from "./cluster-api.ts";
import { elapsed } from "./elapsed.ts";

export interface CollectionSpec<Shape> {
  /** For messages, such as `PersistentVolumes`. */
  readonly what: string;
  readonly path: string;
  /** The part of the object that is kept in memory; undefined: nothing. */
  readonly kept: (object: Shape) => Shape | undefined;
  /** At most so many objects are kept, the latest. */
  readonly latest?: { readonly count: number; readonly timeOf: (object: Shape) => string };
}

interface Following {
  /** Runs after every change of objects, refusal or problem. */
  readonly onChange: () => void;
  /** Runs with every event and every new request, so at least every few minutes, whether the server answers or not. */
  readonly turned?: (() => void) | undefined;
}

/** Small pages: an answer is in memory as text and as objects before most of it is dropped. */
const pageSize = 250;
/** The API server ends the watch then; the next one continues where it ended. */
const watchSeconds = 300;
/** A connection that is dead without an error lasts longer: nothing ends it but this limit. */
const watchLimitMs = (watchSeconds + 30) * 1000;
/** Between two watches, so that a proxy that ends every watch at once does not cause a flood of requests. */
const pauseMs = 500;
const firstRetryMs = 250;
const longestRetryMs = 30_000;
/** A watch that lasted this long worked. */
const steadyMs = 10_000;

export class FollowedCollection<Shape extends KubeObject> {
  readonly #api: ClusterApi;
  readonly #spec: CollectionSpec<Shape>;
  readonly #onChange: () => void;
  readonly #turned: () => void;
  readonly #objects = new Map<string, Shape>();
  #restart = new AbortController();
  #version = "";
  #isRead = false;
  /** Why the user cannot read it; empty: the user can. */
  #refusal = "";
  #problem = "";

  constructor(api: ClusterApi, spec: CollectionSpec<Shape>, { onChange, turned = () => undefined }: Following) {
    this.#api = api;
    this.#spec = spec;
    this.#onChange = onChange;
    this.#turned = turned;
  }

  get objects(): readonly Shape[] {
    return [...this.#objects.values()];
  }

  /** The list has been read once, or the server refuses to show it. */
  get isKnown(): boolean {
    return this.#isRead || this.#refusal !== "";
  }

  get refusals(): readonly string[] {
    return this.#refusal === "" ? [] : [`${this.#spec.what}: ${this.#refusal}`];
  }

  /** Why the objects are out of date; empty: they are not. */
  get problem(): string {
    return this.#problem;
  }

  /** For a connection that is dead without an error: ends the watch, and lists anew. */
  restart(): void {
    this.#restart.abort();
  }

  /** Resolves when the signal aborts; never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      const startedAt = Date.now();
      this.#restart = new AbortController();
      await this.#listAndWatch(AbortSignal.any([signal, this.#restart.signal]));
      // The wait grows also where lists succeed and watches fail, as for a user that may not watch.
      retryMs = Date.now() - startedAt > steadyMs ? firstRetryMs : Math.min(retryMs * 2, longestRetryMs);
      await elapsed(signal, retryMs * (0.75 + Math.random() / 2));
    }
  }

  /** A stream that breaks is answered by a new list; only a list that fails is a problem. */
  async #listAndWatch(signal: AbortSignal): Promise<void> {
    try {
      await this.#list(signal);
    } catch (error) {
      if (!signal.aborted) this.#failed(error as Error);
      return;
    }
    await this.#watchOn(signal).catch(() => undefined);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const found = new Map<string, Shape>();
    let next = "";
    do {
      this.#turned();
      const query = new URLSearchParams({ limit: String(pageSize), ...(next !== "" && { continue: next }) });
      const list = await this.#api.json<List<Shape>>(signal, { path: `${this.#spec.path}?${query.toString()}` });
      for (const object of list.items) {
        const kept = this.#spec.kept(object);
        if (kept !== undefined) found.set(object.metadata.uid, kept);
      }
      this.#dropOldest(found);
      this.#version = list.metadata.resourceVersion;
      next = list.metadata.continue ?? "";
    } while (next !== "");
    this.#objects.clear();
    for (const [uid, object] of found) this.#objects.set(uid, object);
    this.#isRead = true;
    this.#refusal = "";
    this.#problem = "";
    this.#onChange();
  }

  /** Rejects when the stream breaks or outlasts its limit, or the server no longer knows the version (410). */
  async #watchOn(signal: AbortSignal): Promise<never> {
    while (true) {
      this.#turned();
      using limit = limitedTo(signal, watchLimitMs);
      const query = new URLSearchParams({
        ...{ watch: "true", allowWatchBookmarks: "true", timeoutSeconds: String(watchSeconds) },
        resourceVersion: this.#version,
      });
      const lines = await this.#api.lines(limit.signal, `${this.#spec.path}?${query.toString()}`);
      for await (const line of lines) if (line !== "") this.#take(JSON.parse(line) as WatchEvent<Shape>);
      limit.signal.throwIfAborted();
      await elapsed(signal, pauseMs);
    }
  }

  #take({ type, object }: WatchEvent<Shape>): void {
    this.#turned();
    if (type === "ERROR") throw new Error(object.message ?? "the watch failed");
    const { uid, resourceVersion } = object.metadata;
    this.#version = resourceVersion;
    if (type === "BOOKMARK") return;
    const kept = type === "DELETED" ? undefined : this.#spec.kept(object);
    if (kept !== undefined) this.#objects.set(uid, kept);
    else if (!this.#objects.delete(uid)) return;
    this.#dropOldest(this.#objects);
    this.#onChange();
  }

  /** A tenth at once, so that a full collection is not sorted for every new object. */
  #dropOldest(objects: Map<string, Shape>): void {
    const { latest } = this.#spec;
    if (latest === undefined || objects.size <= latest.count) return;
    const times = [...objects].map(([uid, object]) => ({ uid, time: latest.timeOf(object) }));
    const oldest = times.toSorted((a, b) => (a.time < b.time ? -1 : 1));
    const excess = objects.size - Math.floor(latest.count * 0.9);
    for (const { uid } of oldest.slice(0, excess)) objects.delete(uid);
  }

  #failed(error: Error): void {
    const refused = isRefused(error);
    if (refused) this.#objects.clear();
    this.#refusal = refused ? error.message : "";
    this.#problem = refused ? "" : error.message;
    this.#onChange();
  }
}

/** Must be disposed of, or the timer keeps the program running. */
function limitedTo(signal: AbortSignal, limitMs: number): Disposable & { readonly signal: AbortSignal } {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error("the watch outlasted its limit")), limitMs);
  return { signal: AbortSignal.any([signal, limit.signal]), [Symbol.dispose]: () => clearTimeout(timer) };
}

interface List<Shape> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly Shape[];
}

interface WatchEvent<Shape> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Shape & { readonly message?: string; readonly metadata: { readonly resourceVersion: string } };
}
