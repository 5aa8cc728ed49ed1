/** An indexed cache of the objects of one kind. One watch writes it, all other code reads it. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { KeyIndex } from "./key-index.ts";

/** `before` and `after` may be two objects of the same name: while a watch is down, a deletion and a creation look like a change. */
export interface Change<Kept> {
  readonly key: string;
  readonly before: Kept | undefined;
  readonly after: Kept | undefined;
}

/**
 * The side of a store that a watch writes to. Between `begin` and `complete` the watch puts everything that exists, and `complete`
 * removes all other objects.
 */
export interface Feed<Kept> {
  /** `askedAtMs`, a moment of `performance.now()`: every object that exists since before it, and still exists, is in the list. */
  begin(askedAtMs: number): void;
  put(key: string, version: string, value: Kept): void;
  remove(key: string): void;
  complete(): void;
}

interface Entry<Kept> {
  version: string;
  value: Kept;
  /** The list that confirmed the object last. */
  list: number;
}

interface Indexed<Kept> {
  readonly name: string;
  readonly valuesOf: (value: Kept) => readonly string[];
  readonly keys: KeyIndex;
}

/** What a caller waits for: a change of one object, or of the objects under one value of an index. */
export type Where<Index extends string> = { readonly key: string } | { readonly index: Index; readonly value: string };

/** `namespace/name`, or the name alone for kinds without a namespace. Keys of a store have this form. */
export function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Guarantees that readers see the objects as the API server had them at one moment in the recent past, in the order of their
 * changes. Assumes one writer. Before the store is synced, the absence of an object means nothing: callers must wait with `synced`.
 */
export class Store<Kept, Index extends string = never> implements Feed<Kept> {
  readonly #entries = new Map<string, Entry<Kept>>();
  readonly #indexes: readonly Indexed<Kept>[];
  readonly #isSame: (before: Kept, after: Kept) => boolean;
  /** Topic (a key, or an index and a value in it) → the checks of callers that wait for a change there. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(change: Change<Kept>) => void>();
  /** Counts the lists that have begun. */
  #list = 0;
  #isListing = false;
  /** Objects that the list has not confirmed yet. */
  #unconfirmed = 0;
  #synced = false;

  /** An object for which `isSame` is true is no change: listeners and waiting callers do not hear of it. */
  constructor(
    indexes: Readonly<Record<Index, (value: Kept) => readonly string[]>>,
    isSame: (before: Kept, after: Kept) => boolean = () => false,
  ) {
    const all = Object.entries<(value: Kept) => readonly string[]>(indexes);
    this.#indexes = all.map(([name, valuesOf]) => ({ name, valuesOf, keys: new KeyIndex() }));
    this.#isSame = isSame;
  }

  /** Whether the first list is complete, so that the absence of an object means that it does not exist. */
  get isSynced(): boolean {
    return this.#synced;
  }

  get(key: string): Kept | undefined {
    return this.#entries.get(key)?.value;
  }

  get size(): number {
    return this.#entries.size;
  }

  *values(): Generator<Kept> {
    for (const { value } of this.#entries.values()) yield value;
  }

  by(index: Index, value: string): Kept[] {
    const found: Kept[] = [];
    for (const key of this.#keysBy(index).keys(value)) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) found.push(entry.value);
    }
    return found;
  }

  /** How many objects `by` would return. */
  count(index: Index, value: string): number {
    return this.#keysBy(index).count(value);
  }

  /**
   * Calls the listener for every change from now on, in order and synchronously. A listener must not block or throw: it notes what
   * is to be done, usually in a queue.
   */
  subscribe(listener: (change: Change<Kept>) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Waits for the first complete list. Rejects when the call is aborted. */
  async synced(call: Call): Promise<void> {
    await this.#waitUntil(call, syncedTopic, () => this.#synced || undefined);
  }

  /**
   * Waits for the store to be synced, then resolves with the first answer of `check` that is not undefined. `check` runs now and
   * after every change of the objects that `where` names; it throws to end the wait for a reason that will not go away.
   */
  async waitFor<Found>(
    call: Call,
    where: Where<Index>,
    check: (objects: readonly Kept[]) => Found | undefined,
  ): Promise<Found> {
    if (!this.#synced) await this.synced(call);
    const topic = "key" in where ? keyTopic(where.key) : topicOf(where.index, where.value);
    return await this.#waitUntil(call, topic, () => check(this.#at(where)));
  }

  begin(): void {
    this.#list += 1;
    this.#isListing = true;
    this.#unconfirmed = this.#entries.size;
  }

  put(key: string, version: string, value: Kept): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#entries.set(key, { version, value, list: this.#list });
      this.#changed({ key, before: undefined, after: value });
      return;
    }
    if (entry.list !== this.#list) this.#unconfirmed -= 1;
    entry.list = this.#list;
    if (entry.version === version) return; // a repeated list has nothing new
    entry.version = version;
    const before = entry.value;
    if (this.#isSame(before, value)) return;
    entry.value = value;
    this.#changed({ key, before, after: value });
  }

  remove(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    if (before.list !== this.#list) this.#unconfirmed -= 1;
    this.#changed({ key, before: before.value, after: undefined });
  }

  complete(): void {
    // Usually every object still exists, and a walk over all of them would hold the event loop (SC-5).
    if (this.#isListing && this.#unconfirmed > 0) {
      for (const [key, { list }] of this.#entries) if (list !== this.#list) this.remove(key);
    }
    this.#isListing = false;
    this.#synced = true;
    this.#wake(syncedTopic);
  }

  #at(where: Where<Index>): Kept[] {
    if ("index" in where) return this.by(where.index, where.value);
    const value = this.get(where.key);
    return value === undefined ? [] : [value];
  }

  #changed(change: Change<Kept>): void {
    const topics = new Set<string>();
    for (const index of this.#indexes) {
      for (const value of reindex(index, change)) if (this.#waiting.size > 0) topics.add(topicOf(index.name, value));
    }
    for (const listener of this.#listeners) listener(change);
    if (this.#waiting.size > 0) this.#wake(keyTopic(change.key));
    for (const topic of topics) this.#wake(topic);
  }

  #keysBy(index: Index): KeyIndex {
    const found = this.#indexes.find(({ name }) => name === index);
    if (found === undefined) throw new Error(`there is no index ${index}`);
    return found.keys;
  }

  #wake(topic: string): void {
    for (const look of this.#waiting.get(topic) ?? []) look();
  }

  async #waitUntil<Found>(call: Call, topic: string, check: () => Found | undefined): Promise<Found> {
    call.signal.throwIfAborted();
    const now = check();
    if (now !== undefined) return now;

    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    using _ = this.#wait(topic, () => {
      try {
        const found = check();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    });
    return await orAborted(call, promise);
  }

  #wait(topic: string, look: () => void): Disposable {
    const waiting = this.#waiting.get(topic) ?? new Set();
    this.#waiting.set(topic, waiting.add(look));
    return {
      [Symbol.dispose]: () => {
        waiting.delete(look);
        if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
      },
    };
  }
}

/** Returns the values that the object had or has. */
function reindex<Kept>({ valuesOf, keys }: Indexed<Kept>, { key, before, after }: Change<Kept>): readonly string[] {
  const left = before === undefined ? [] : valuesOf(before);
  const entered = after === undefined ? [] : valuesOf(after);
  for (const value of left) if (!entered.includes(value)) keys.remove(value, key);
  for (const value of entered) keys.add(value, key);
  return [...left, ...entered];
}

/** No name of an object, a namespace or an index contains a line feed. */
const topicOf = (index: string, value: string) => `${index}\n${value}`;
const keyTopic = (key: string) => `\n${key}`;
const syncedTopic = "";
