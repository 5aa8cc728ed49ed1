/** An API server for the steps of a decision. */

import { usualIdentity } from "../../../test/support/fake-credentials.ts";
import { mountpointPodFrom } from "../../core/mountpoint-pod-state.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Happening } from "../../kube/event-writer.ts";
import type { Kind } from "../../kube/kinds.ts";
import { keyOf } from "../../kube/watch/store.ts";
import { node, volume, w1 } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { mountpointPod } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { emptyView, type View } from "../observe/view.ts";
import type { Cluster } from "./act.ts";
import { LastingRefusals } from "./lasting-refusals.ts";
import { UnconfirmedWrites } from "./unconfirmed-writes.ts";

export interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Knows the rules of the API server about names, versions and merge patches; shows changes in the view at once, or when asked to. */
export function fakeCluster() {
  const objects = new Map<string, Stored>();
  const view = emptyView();
  const pending: (() => void)[] = [];
  const events: string[] = [];
  let version = 1;
  let prompt = true;
  const announce = (object: Stored, gone: boolean) => {
    pending.push(() => show(view, object, gone));
    if (prompt) showInView();
  };
  const showInView = () => pending.splice(0).forEach((each) => each());
  const put = (object: Stored) => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    objects.set(keyOf(stored.metadata), stored);
    announce(stored, false);
    return stored;
  };
  const current = (ref: { name: string; namespace?: string | undefined }, expected: Partial<Stored["metadata"]>) => {
    const found = objects.get(keyOf({ name: ref.name, ...(ref.namespace && { namespace: ref.namespace }) }));
    if (found === undefined) throw new ApiError(404, "NotFound", "not found");
    for (const field of ["uid", "resourceVersion"] as const) {
      const wanted = expected[field];
      if (wanted !== undefined && wanted !== found.metadata[field]) throw new ApiError(409, "Conflict", field);
    }
    return found;
  };
  const client = {
    create: async (_: unknown, _kind: Kind<unknown>, object: Stored) => {
      if (objects.has(keyOf(object.metadata))) throw new ApiError(409, "AlreadyExists", "already exists");
      const birth = { uid: `uid of ${object.metadata.name}`, creationTimestamp: "2026-01-15T12:00:00Z" };
      return put({ ...object, metadata: { ...birth, ...object.metadata } });
    },
    patch: async (_: unknown, _kind: Kind<unknown>, ref: { name: string }, patch: Stored) => {
      const before = current(ref, patch.metadata);
      const after = merged(before, patch) as Stored;
      // The API server makes no new version of an object that does not change.
      return JSON.stringify(after) === JSON.stringify(before) ? before : put(after);
    },
    delete: async (_: unknown, _kind: Kind<unknown>, ref: { name: string }, expected: Stored["metadata"]) => {
      const found = current(ref, expected);
      objects.delete(keyOf(found.metadata));
      announce(found, true);
    },
  };
  for (const store of Object.values(view)) if ("complete" in store) store.complete();
  const others = { ...readerOf(objects), ...reportsInto(events), mountpointPods: installation };
  return {
    cluster: { client, view, ...others } as unknown as Cluster,
    view,
    objects,
    events,
    put,
    showInView,
    /** From now on the view shows changes only after `showInView`. */
    delayView: () => {
      prompt = false;
    },
  };
}

function readerOf(objects: ReadonlyMap<string, Stored>) {
  const find = async (_: unknown, _kind: Kind<unknown>, ref: { name: string; namespace?: string }) => {
    const versions = [...objects.values()].map(({ metadata }) => Number(metadata.resourceVersion));
    return { object: objects.get(keyOf(ref)), version: String(Math.max(0, ...versions)) };
  };
  return { reader: { find } };
}

/** The Mountpoint Pod of w1, as an object of the API server. */
export function storedPod(): Stored {
  const object = mountpointPod(installation, { volume, identity: usualIdentity, workload: w1, node, generation: 0 });
  const birth = { uid: "uid-mp", resourceVersion: "1", creationTimestamp: "2026-01-15T10:00:00Z" };
  return { ...object, metadata: { ...birth, ...object.metadata } };
}

function show(view: View, object: Stored, gone: boolean): void {
  const key = keyOf(object.metadata);
  const kept = mountpointPodFrom(object);
  const store = kept === undefined ? view.attachments : view.mountpointPods;
  if (gone) store.remove(key);
  else store.put(key, object.metadata.resourceVersion, (kept ?? object) as never);
}

function reportsInto(events: string[]) {
  const recorder = {
    record: (_: unknown, about: { metadata: { name: string } }, { reason, message, fix }: Happening) => {
      events.push([`${about.metadata.name}: ${reason}: ${message}`, fix].filter(Boolean).join(". "));
    },
  };
  return { events: recorder, refusals: new LastingRefusals(), unconfirmed: new UnconfirmedWrites() };
}

export function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const base = typeof before === "object" && before !== null ? before : {};
  const changes = Object.entries(patch).filter(([, value]) => value !== null);
  const kept = Object.entries(base).filter(([name]) => (patch as Record<string, unknown>)[name] !== null);
  const values = new Map<string, unknown>(kept);
  for (const [name, value] of changes) values.set(name, merged(values.get(name), value));
  return Object.fromEntries(values);
}
