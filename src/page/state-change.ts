/** Pure: the difference between two states, so that an update of one volume among 1,000 is one line of one volume. */
import type { MountpointPodView, VolumeView } from "../topology/topology.ts";
import type { EventView, PageState } from "./page-state.ts";

export interface ListChange<Item> {
  /** New, or different from before. */
  readonly changed: readonly Item[];
  readonly removed: readonly string[];
}

export interface StateChange {
  readonly volumes: ListChange<VolumeView>;
  readonly events: ListChange<EventView>;
  /** These are short: the whole list, if something in it changed. */
  readonly orphanedPods?: readonly MountpointPodView[];
  readonly unreadable?: readonly string[];
}

/** Undefined: the states are equal. */
export function changeBetween(before: PageState, after: PageState): StateChange | undefined {
  const volumes = listChange(before.volumes, after.volumes, nameOf);
  const events = listChange(before.events, after.events, uidOf);
  const change = {
    volumes,
    events,
    ...(!isSame(before.orphanedPods, after.orphanedPods) && { orphanedPods: after.orphanedPods }),
    ...(!isSame(before.unreadable, after.unreadable) && { unreadable: after.unreadable }),
  };
  const isEmpty = hasNothing(volumes) && hasNothing(events) && Object.keys(change).length === 2;
  return isEmpty ? undefined : change;
}

/** Items that did not change stay the same objects, so that the page need not draw them again. */
export function changed(state: PageState, change: StateChange): PageState {
  return {
    context: state.context,
    volumes: changedList(state.volumes, change.volumes, nameOf).toSorted(byName),
    events: changedList(state.events, change.events, uidOf).toSorted(latestFirst),
    orphanedPods: change.orphanedPods ?? state.orphanedPods,
    unreadable: change.unreadable ?? state.unreadable,
  };
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}

export function latestFirst(a: EventView, b: EventView): number {
  if (a.time !== b.time) return a.time < b.time ? 1 : -1;
  return a.uid < b.uid ? -1 : 1;
}

function listChange<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
): ListChange<Item> {
  const known = new Map(before.map((item) => [keyOf(item), item]));
  const kept = new Set(after.map(keyOf));
  return {
    changed: after.filter((item) => !isSame(known.get(keyOf(item)), item)),
    removed: [...known.keys()].filter((key) => !kept.has(key)),
  };
}

function changedList<Item>(
  items: readonly Item[],
  { changed: fresh, removed }: ListChange<Item>,
  keyOf: (item: Item) => string,
): readonly Item[] {
  const merged = new Map(items.map((item) => [keyOf(item), item]));
  for (const key of removed) merged.delete(key);
  for (const item of fresh) merged.set(keyOf(item), item);
  return [...merged.values()];
}

/** Both are made by the same code, so their fields are in the same order. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function hasNothing({ changed: fresh, removed }: ListChange<unknown>): boolean {
  return fresh.length + removed.length === 0;
}

function nameOf({ name }: VolumeView): string {
  return name;
}

function uidOf({ uid }: EventView): string {
  return uid;
}
