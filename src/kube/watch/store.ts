/** A read-only, indexed picture of the objects of one kind; fed by a watch, asked by everyone else. */
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../or-aborted.ts";

/** `before` and `after` may be different objects of the same name: a deletion can go unseen while a watch is down. */
export interface Change<Kept> {
  readonly key: string;
  readonly before: Kept | undefined;
  readonly after: Kept | undefined;
}

/** The side of a store that a watch writes to. Between `begin` and `complete` everything that exists is put. */
export interface Feed<Kept> {
  begin(): void;
  put(key: string, version: string, value: Kept): void;
  remove(key: string): void;
  complete(): void;
}

/** What a wait looks at: one object, or those under one value of an index. */
export type Where<Index extends string> = { readonly key: string } | { readonly index: Index; readonly value: string };

/** `namespace/name`, or the name alone for kinds without a namespace. */
export function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export class Store<Kept, Index extends string = never> implements Feed<Kept> {
  readonly #entries = new Map<string, { readonly version: string; readonly value: Kept }>();
  readonly #indexes: readonly (readonly [name: string, valuesOf: (value: Kept) => readonly string[]])[];
  /** Topic (an index and a value in it) → keys. */
  readonly #keysByTopic = new Map<string, Set<string>>();
  /** Topic → those who wait for a change there; nobody else is woken by it. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(change: Change<Kept>) => void>();
  /** Keys not confirmed yet by the list in progress. */
  #unconfirmed: Set<string> | undefined;
  #complete = false;

  constructor(indexes: Readonly<Record<Index, (value: Kept) => readonly string[]>>) {
    this.#indexes = Object.entries<(value: Kept) => readonly string[]>(indexes);
  }

  /** Whether "not there" means anything yet. */
  get isComplete(): boolean {
    return this.#complete;
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
    const keys = this.#keysByTopic.get(topicOf(index, value)) ?? [];
    return [...keys].flatMap((key) => this.get(key) ?? []);
  }

  /** From now on, in order, synchronously; a listener does no work of its own but notes what is to be done. */
  subscribe(listener: (change: Change<Kept>) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Until the first picture is complete: before that, "not there" means nothing. */
  async synced(call: Call): Promise<void> {
    await this.#until(call, syncedTopic, () => this.#complete || undefined);
  }

  /**
   * Resolves with the first answer of `check` that is not undefined, asked now and after every change at the place.
   * `check` throws to end the wait for a reason that will not go away.
   */
  async waitFor<Found>(
    call: Call,
    where: Where<Index>,
    check: (objects: readonly Kept[]) => Found | undefined,
  ): Promise<Found> {
    if (!this.#complete) await this.synced(call);
    const topic = "key" in where ? keyTopic(where.key) : topicOf(where.index, where.value);
    return await this.#until(call, topic, () => check(this.#at(where)));
  }

  begin(): void {
    this.#unconfirmed = new Set(this.#entries.keys());
  }

  put(key: string, version: string, value: Kept): void {
    this.#unconfirmed?.delete(key);
    const before = this.#entries.get(key);
    if (before?.version === version) return; // a repeated list tells what we know
    this.#entries.set(key, { version, value });
    this.#changed({ key, before: before?.value, after: value });
  }

  remove(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    this.#changed({ key, before: before.value, after: undefined });
  }

  complete(): void {
    for (const key of this.#unconfirmed ?? []) this.remove(key);
    this.#unconfirmed = undefined;
    this.#complete = true;
    this.#wake(syncedTopic);
  }

  #at(where: Where<Index>): Kept[] {
    if ("index" in where) return this.by(where.index, where.value);
    const value = this.get(where.key);
    return value === undefined ? [] : [value];
  }

  #changed(change: Change<Kept>): void {
    const { key } = change;
    const left = this.#topicsOf(change.before);
    const entered = this.#topicsOf(change.after);
    for (const topic of left) this.#unindex(topic, key);
    for (const topic of entered) this.#index(topic, key);
    for (const listener of this.#listeners) listener(change);
    for (const topic of new Set([keyTopic(key), ...left, ...entered])) this.#wake(topic);
  }

  #topicsOf(value: Kept | undefined): string[] {
    if (value === undefined) return [];
    return this.#indexes.flatMap(([index, valuesOf]) => valuesOf(value).map((each) => topicOf(index, each)));
  }

  #index(topic: string, key: string): void {
    const keys = this.#keysByTopic.get(topic);
    if (keys === undefined) this.#keysByTopic.set(topic, new Set([key]));
    else keys.add(key);
  }

  #unindex(topic: string, key: string): void {
    const keys = this.#keysByTopic.get(topic);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysByTopic.delete(topic);
  }

  #wake(topic: string): void {
    for (const look of this.#waiting.get(topic) ?? []) look();
  }

  async #until<Found>(call: Call, topic: string, check: () => Found | undefined): Promise<Found> {
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

/** No name of an object, a namespace or an index contains a line feed. */
const topicOf = (index: string, value: string) => `${index}\n${value}`;
const keyTopic = (key: string) => `\n${key}`;
const syncedTopic = "";
