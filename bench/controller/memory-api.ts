/**
 * An API server in the memory of this process, for measurements without one: it makes its objects when they are listed, so that it
 * holds little memory itself, answers writes at once, and shows them to all watches.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Page, Ref, WatchEvent } from "../../src/kube/client/client.ts";
import type { Kind, KubeObject } from "../../src/kube/kinds.ts";

export type Text = string;

/** What exists from the beginning, as JSON, by the plural of the kind. */
export type Existing = (plural: string) => Iterable<Text>;

type Writable = KubeObject & Readonly<Record<string, unknown>>;

/** As much as a socket delivers at once. */
const chunkBytes = 65_536;

export class MemoryApi {
  /** Answered requests, such as "create pods". */
  readonly requests: string[] = [];
  readonly #existing: Existing;
  /** Written since the beginning, by kind and name; undefined: deleted. */
  readonly #written = new Map<string, Writable | undefined>();
  readonly #streams = new Map<string, Set<(event: WatchEvent<never>) => void>>();
  #version = 1_000_000;
  /** Called after every write: where the scheduler and kubelet are simulated. */
  onWritten: (plural: string, object: Writable) => void = () => undefined;

  constructor(existing: Existing) {
    this.#existing = existing;
  }

  async list<Shape>(_call: unknown, kind: Kind<Shape>): Promise<Shape[]> {
    // Reads less than a server would: only one check at the start lists, and its cost is not measured here.
    await nextTurn();
    const objects: Shape[] = [];
    for (const text of this.#texts(kind.plural)) {
      objects.push(JSON.parse(text) as Shape);
      if (objects.length >= 500) break;
    }
    return objects;
  }

  async *pages<Shape>(): AsyncGenerator<Page<Shape>> {
    yield await Promise.reject(new Error("this server streams lists"));
  }

  /** Resolves with a stream that begins with everything that exists, unless it continues from a version. */
  async watch<Shape>(
    call: { readonly signal: AbortSignal },
    kind: Kind<Shape>,
    _selection: unknown,
    parameters: Readonly<Record<string, string>>,
  ): Promise<AsyncGenerator<WatchEvent<Shape>>> {
    await nextTurn();
    return this.#events(call.signal, kind.plural, parameters["sendInitialEvents"] === "true") as AsyncGenerator<
      WatchEvent<Shape>
    >;
  }

  async get<Shape>(_call: unknown, kind: Kind<Shape>, ref: Ref): Promise<Shape | undefined> {
    await nextTurn();
    return this.#written.get(keyOf(kind.plural, ref)) as Shape | undefined;
  }

  async create<Shape>(_call: unknown, kind: Kind<Shape>, object: { readonly metadata: Ref }): Promise<Shape> {
    const birth = {
      uid: `uid-${object.metadata.name}`,
      creationTimestamp: `${new Date().toISOString().slice(0, 19)}Z`,
    };
    const created = { ...object, metadata: { ...birth, ...object.metadata } } as unknown as Writable;
    return (await this.#answer("create", kind.plural, created)) as Shape;
  }

  async patch<Shape>(_call: unknown, kind: Kind<Shape>, ref: Ref, patch: object): Promise<Shape> {
    const before = this.#written.get(keyOf(kind.plural, ref)) ?? this.#find(kind.plural, ref);
    return (await this.#answer("patch", kind.plural, merged(before, patch) as Writable)) as Shape;
  }

  async applyStatus<Shape>(
    _call: unknown,
    kind: Kind<Shape>,
    ref: Ref,
    { status }: { readonly status: object },
  ): Promise<Shape> {
    const before = this.#written.get(keyOf(kind.plural, ref)) ?? this.#find(kind.plural, ref);
    return (await this.#answer("apply status", kind.plural, { ...before, status } as Writable)) as Shape;
  }

  async delete(_call: unknown, kind: Kind<KubeObject>, ref: Ref): Promise<void> {
    const before = this.#written.get(keyOf(kind.plural, ref)) ?? this.#find(kind.plural, ref);
    this.#written.set(keyOf(kind.plural, ref), undefined);
    this.requests.push(`delete ${kind.plural}`);
    this.#send(kind.plural, { type: "DELETED", object: before as never });
    await nextTurn();
  }

  /** A write of somebody else. */
  put(plural: string, object: Writable): Writable {
    this.#version += 1;
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#written.set(keyOf(plural, written.metadata), written);
    this.#send(plural, { type: "MODIFIED", object: JSON.parse(JSON.stringify(written)) as never });
    return written;
  }

  async #answer(verb: string, plural: string, object: Writable): Promise<Writable> {
    const written = this.put(plural, object);
    this.requests.push(`${verb} ${plural}`);
    await nextTurn();
    this.onWritten(plural, written);
    return written;
  }

  *#texts(plural: string): Generator<Text> {
    const changed = [...this.#written].filter(([key]) => key.startsWith(`${plural}/`));
    const names = new Set(changed.map(([key]) => key));
    for (const text of this.#existing(plural)) {
      if (names.size > 0 && names.has(keyOf(plural, (JSON.parse(text) as KubeObject).metadata))) continue;
      yield text;
    }
    for (const [, object] of changed) if (object !== undefined) yield JSON.stringify(object);
  }

  #find(plural: string, ref: Ref): Writable | undefined {
    for (const text of this.#existing(plural)) {
      if (!text.includes(`"${ref.name}"`)) continue;
      const object = JSON.parse(text) as Writable;
      if (object.metadata.name === ref.name) return object;
    }
    return undefined;
  }

  async *#events(signal: AbortSignal, plural: string, withList: boolean): AsyncGenerator<WatchEvent<never>> {
    const waiting: WatchEvent<never>[] = [];
    let wake: (() => void) | undefined;
    const receive = (event: WatchEvent<never>) => {
      waiting.push(event);
      wake?.();
    };
    const streams = this.#streams.get(plural) ?? new Set();
    this.#streams.set(plural, streams.add(receive));
    signal.addEventListener("abort", () => wake?.());
    try {
      if (withList) yield* this.#initialEvents(plural);
      while (true) {
        signal.throwIfAborted();
        // One turn of the loop for what has arrived by then, as a socket delivers it.
        for (const event of waiting.splice(0)) yield event;
        if (waiting.length > 0) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        await nextTurn();
      }
    } finally {
      streams.delete(receive);
    }
  }

  async *#initialEvents(plural: string): AsyncGenerator<WatchEvent<never>> {
    let bytes = 0;
    for (const text of this.#texts(plural)) {
      bytes += text.length;
      if (bytes > chunkBytes) {
        await nextTurn();
        bytes = text.length;
      }
      yield { type: "ADDED", object: JSON.parse(text) as never };
    }
    const annotations = { "k8s.io/initial-events-end": "true" };
    yield { type: "BOOKMARK", object: { metadata: { resourceVersion: String(this.#version), annotations } } as never };
  }

  #send(plural: string, event: WatchEvent<never>): void {
    for (const receive of this.#streams.get(plural) ?? []) receive(event);
  }
}

function keyOf(plural: string, { namespace = "", name }: Ref): string {
  return `${plural}/${namespace}/${name}`;
}

function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const values = new Map<string, unknown>(Object.entries(before ?? {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) values.delete(name);
    else values.set(name, merged(values.get(name), value));
  }
  return Object.fromEntries(values);
}
