/** An API server in memory: versions, conditional writes, graceful deletion of Pods, watches over a history that can be compacted. */
import { type AttachmentStatus, isSameStatus } from "../../src/core/attachment-status.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { Ref, Selection } from "../../src/kube/client/client.ts";
import { type Kind, type KubeObject, kinds } from "../../src/kube/kinds.ts";
import { keyOf } from "../../src/kube/watch/store.ts";
import { mergedPatch } from "./merged-patch.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Release } from "./release.ts";

export interface StoredObject extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface ServerEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly version: number;
  readonly object: StoredObject;
}

/** One write, as the rules see it. `before` and `after` are undefined for a creation and a removal. */
export interface Write {
  readonly kind: Kind<unknown>;
  readonly before: StoredObject | undefined;
  readonly after: StoredObject | undefined;
  /** undefined: the cluster itself. */
  readonly by: Writer | undefined;
}

export interface Writer {
  readonly name: string;
  /** Who held the lease when the request was sent. */
  readonly leaderWhenSent: string | undefined;
  readonly process: SimulatedProcess;
  /** The term of the process in which the request was sent. */
  readonly term: number;
  /** undefined: it is no reconciler. */
  readonly release: Release | undefined;
}

interface Applied {
  readonly manager: string;
  readonly status: object;
}

export class ApiServer {
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  readonly #history = new Map<string, ServerEvent[]>();
  readonly #watching = new Map<string, Set<(event: ServerEvent) => void>>();
  /** UID → manager → the status that it applied last. */
  readonly #applied = new Map<string, Map<string, object>>();
  readonly #now: () => Date;
  readonly #onWrite: (write: Write) => void;
  #version = 100;
  /** Changes up to this version are not in the history any more. */
  #compacted = 0;

  constructor(now: () => Date, onWrite: (write: Write) => void) {
    this.#now = now;
    this.#onWrite = onWrite;
  }

  get version(): number {
    return this.#version;
  }

  all<Shape>(kind: Kind<Shape>): readonly Shape[] {
    return [...this.#of(kind).values()] as Shape[];
  }

  get<Shape>(kind: Kind<Shape>, ref: Ref): Shape | undefined {
    return this.#of(kind).get(refKey(ref)) as Shape | undefined;
  }

  list<Shape>(kind: Kind<Shape>, selection: Selection): readonly Shape[] {
    const objects = [...this.#of(kind).values()].filter((object) => isSelected(object, selection));
    return objects as readonly unknown[] as readonly Shape[];
  }

  create(kind: Kind<unknown>, given: { readonly metadata: Ref }, by?: Writer): StoredObject {
    const key = refKey(given.metadata);
    if (this.#of(kind).has(key)) throw new ApiError(409, "AlreadyExists", `${kind.plural} "${key}" already exists`);
    const metadata = {
      ...given.metadata,
      uid: `uid-${kind.plural}-${this.#version + 1}`,
      creationTimestamp: this.#time(),
      resourceVersion: "",
    };
    return this.#write(kind, undefined, { ...given, metadata }, by);
  }

  /** A JSON merge patch; with a version or a UID in its metadata it is conditional. */
  patch(kind: Kind<unknown>, ref: Ref, patch: object, by?: Writer): StoredObject {
    const before = this.#existing(kind, ref);
    const { metadata = {} } = patch as { metadata?: { uid?: string; resourceVersion?: string } };
    this.#require(kind, before, metadata);
    const after = mergedPatch(before, patch) as StoredObject;
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    return this.#write(kind, before, after, by);
  }

  /** Server-side apply of the status of attachments: the fields of several managers are merged. */
  applyStatus(kind: Kind<unknown>, ref: Ref & { readonly uid: string }, applied: Applied, by?: Writer): StoredObject {
    const before = this.#existing(kind, ref);
    this.#require(kind, before, { uid: ref.uid });
    const managers = this.#applied.get(ref.uid) ?? new Map<string, object>();
    this.#applied.set(ref.uid, managers.set(applied.manager, applied.status));
    const status = mergedStatus([...managers.values()]);
    if (isSameStatus(before.status ?? {}, status)) return before;
    return this.#write(kind, before, { ...before, status }, by);
  }

  /** A Pod on a node gets a deletion timestamp, and its kubelet removes it. Everything else is gone at once. */
  delete(kind: Kind<unknown>, ref: Ref, conditions: { uid?: string; resourceVersion?: string }, by?: Writer): void {
    const before = this.#existing(kind, ref);
    this.#require(kind, before, conditions);
    const { nodeName, terminationGracePeriodSeconds: graceSeconds = 30 } = (before.spec ?? {}) as PodSpec;
    const { phase } = (before.status ?? {}) as { phase?: string };
    const hasEnded = phase === "Succeeded" || phase === "Failed";
    const isAtOnce = kind.plural !== kinds.pods.plural || nodeName === undefined || hasEnded;
    if (isAtOnce) return this.remove(kind, ref, by);
    if (before.metadata.deletionTimestamp !== undefined) return;
    const end = this.#time(graceSeconds * 1000);
    const metadata = { ...before.metadata, deletionTimestamp: end, deletionGracePeriodSeconds: graceSeconds };
    this.#write(kind, before, { ...before, metadata }, by);
  }

  remove(kind: Kind<unknown>, ref: Ref, by?: Writer): void {
    const before = this.#of(kind).get(refKey(ref));
    if (before === undefined) return;
    this.#onWrite({ kind, before, after: undefined, by });
    this.#of(kind).delete(refKey(ref));
    this.#version += 1;
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) };
    this.#tell(kind, { type: "DELETED", version: this.#version, object: { ...before, metadata } });
  }

  /** Answers with the changes after this version, and calls the listener for every later one. */
  watch(kind: Kind<unknown>, after: number, listener: (event: ServerEvent) => void): WatchAnswer {
    if (after < this.#compacted) throw new ApiError(410, "Expired", `too old resource version: ${after}`);
    const listeners = this.#watching.get(kind.plural) ?? new Set();
    this.#watching.set(kind.plural, listeners.add(listener));
    const changes = (this.#history.get(kind.plural) ?? []).filter(({ version }) => version > after);
    return { changes, end: () => void listeners.delete(listener) };
  }

  /** etcd forgets all changes so far. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history.clear();
  }

  #write(kind: Kind<unknown>, before: StoredObject | undefined, given: object, by: Writer | undefined): StoredObject {
    const { metadata } = given as StoredObject;
    const after = { ...given, metadata: { ...metadata, resourceVersion: String(this.#version + 1) } } as StoredObject;
    this.#onWrite({ kind, before, after, by });
    this.#version += 1;
    this.#of(kind).set(refKey(after.metadata), after);
    this.#tell(kind, { type: before === undefined ? "ADDED" : "MODIFIED", version: this.#version, object: after });
    return after;
  }

  #tell(kind: Kind<unknown>, event: ServerEvent): void {
    const history = this.#history.get(kind.plural) ?? [];
    history.push(event);
    this.#history.set(kind.plural, history);
    for (const listener of this.#watching.get(kind.plural) ?? []) listener(event);
  }

  #existing(kind: Kind<unknown>, ref: Ref): StoredObject {
    const object = this.#of(kind).get(refKey(ref));
    if (object === undefined) throw new ApiError(404, "NotFound", `${kind.plural} "${ref.name}" not found`);
    return object;
  }

  #require(
    { plural }: Kind<unknown>,
    { metadata }: StoredObject,
    { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
  ): void {
    const isOther = uid !== undefined && uid !== metadata.uid;
    const isChanged = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion;
    if (isOther || isChanged) throw new ApiError(409, "Conflict", `${plural} "${metadata.name}" has been modified`);
  }

  #of({ plural }: Kind<unknown>): Map<string, StoredObject> {
    const objects = this.#objects.get(plural) ?? new Map<string, StoredObject>();
    this.#objects.set(plural, objects);
    return objects;
  }

  #time(laterMs = 0): string {
    return `${new Date(this.#now().getTime() + laterMs).toISOString().slice(0, 19)}Z`;
  }
}

/** A label exists, or has a value; it does not change while Pods are selected by it. Of the fields only the node is known, which never changes once it is set. */
export function isSelected(
  { metadata, spec }: StoredObject,
  { namespace, labelSelector, fieldSelector }: Selection,
): boolean {
  const { nodeName } = (spec ?? {}) as PodSpec;
  const fields = [`spec.nodeName=${nodeName}`, `metadata.name=${metadata.name}`];
  return (
    (namespace === undefined || metadata.namespace === namespace) &&
    (labelSelector === undefined || hasLabel(metadata, labelSelector)) &&
    (fieldSelector === undefined || fields.includes(fieldSelector))
  );
}

function hasLabel({ labels = {} }: StoredObject["metadata"], selector: string): boolean {
  const [name = "", value] = selector.split("=");
  return value === undefined ? labels[name] !== undefined : labels[name] === value;
}

export interface WatchAnswer {
  readonly changes: readonly ServerEvent[];
  readonly end: () => void;
}

interface PodSpec {
  readonly nodeName?: string;
  readonly terminationGracePeriodSeconds?: number;
}

function refKey({ namespace, name }: Ref): string {
  return keyOf({ name, ...(namespace !== undefined && { namespace }) });
}

function mergedStatus(parts: readonly AttachmentStatus[]): AttachmentStatus {
  const mountpointPods: Record<string, object> = {};
  for (const part of parts) {
    for (const [name, pod] of Object.entries(part.mountpointPods ?? {})) {
      mountpointPods[name] = { ...mountpointPods[name], ...pod };
    }
  }
  return { conditions: parts.flatMap(({ conditions = [] }) => conditions), mountpointPods };
}
