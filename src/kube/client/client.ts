/** The verbs of the Kubernetes API that the programs use, typed by kind. */
import type { Call } from "../../runtime/call.ts";
import { type Kind, type KubeObject, kinds } from "../kinds.ts";
import { ApiError, type Status } from "./api-error.ts";
import type { Credentials } from "./credentials.ts";
import { largestOf, largestPage, nextPageSize, pageLimitBytes, smallerPageSize } from "./page-size.ts";
import { AnswerTooLargeError, type Exchange, type GuardedCall, Transport, type TransportOptions } from "./transport.ts";

/** Names an object. The `metadata` of an object is a Ref, too. */
export interface Ref {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Restricts a list or a watch. The API server applies it. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface Found<Shape> {
  /** undefined: there is no such object. */
  readonly object: Shape | undefined;
  readonly version: string;
}

export interface Page<Shape> {
  readonly objects: readonly Shape[];
  readonly version: string;
  readonly last: boolean;
}

/** As the API server sends it. The object of a BOOKMARK has only a version and annotations. */
export type WatchEvent<Shape> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: Shape }
  | { readonly type: "ERROR"; readonly object: Status };

/**
 * Every verb rejects with an ApiError if the server answers with a failure, with a DriverError "notReady" if there is no answer, and
 * with the reason of the abort if the call is aborted. GET, PATCH and DELETE are repeated once if the connection breaks.
 * While the server refuses requests (429, 503, 504 or no answer), all but those for leases, lists and watches wait, as in ServerGate.
 *
 * Answers are trusted to have the shape of their kind. The caller must dispose of the client, which closes its connections.
 */
export class KubeClient implements Disposable {
  readonly #transport: Transport;
  /** By kind, so that the next list begins with what the last one learned. */
  readonly #pageSizes = new Map<string, number>();

  constructor(credentials: Credentials, options: TransportOptions) {
    this.#transport = new Transport(credentials, options);
  }

  /** Resolves with undefined if there is no such object. Rejects if the server does not serve the kind. */
  async get<Shape>(call: Call, kind: Kind<Shape>, ref: Ref): Promise<Shape | undefined> {
    try {
      return (await this.#json(call, { method: "GET", path: pathOf(kind, ref), isUrgent: isLease(kind) })) as Shape;
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }

  /**
   * As `get`, for an account that may list the kind and not get one object. `version` is that of the answer: a read without a version is
   * consistent, so the object is as it was then or later.
   */
  async find<Shape>(call: Call, kind: Kind<Shape>, { name, namespace }: Ref): Promise<Found<Shape>> {
    const path = collectionPath(kind, { namespace, fieldSelector: `metadata.name=${name}` }, {});
    const { items, metadata } = (await this.#json(call, { method: "GET", path })) as ListAnswer<Shape>;
    return { object: items[0], version: metadata.resourceVersion };
  }

  /** Reads all pages into memory. For kinds with many objects use `pages`. */
  async list<Shape>(call: Call, kind: Kind<Shape>, selection: Selection = {}): Promise<Shape[]> {
    const objects: Shape[] = [];
    for await (const page of this.pages(call, kind, selection)) objects.push(...page.objects);
    return objects;
  }

  /**
   * The objects as the cache of the API server has them, which may be older than the last write, in one answer. The server reads nothing
   * from etcd, and finds Pods by `spec.nodeName` in an index. For selections with few objects: the answer has no bound.
   */
  async listCached<Shape>(call: Call, kind: Kind<Shape>, selection: Selection): Promise<readonly Shape[]> {
    const path = collectionPath(kind, selection, { resourceVersion: "0" });
    const { items } = (await this.#json(call, { method: "GET", path })) as ListAnswer<Shape>;
    return items;
  }

  /**
   * A consistent list in pages, so that a caller that keeps little never holds all objects in memory. A page has 500 objects, or as many
   * as fit into 4 MiB.
   */
  async *pages<Shape>(call: Call, kind: Kind<Shape>, selection: Selection): AsyncGenerator<Page<Shape>> {
    let next: string | undefined;
    do {
      const list = await this.#page(call, kind, selection, next);
      next = list.metadata.continue || undefined;
      yield { objects: list.items, version: list.metadata.resourceVersion, last: next === undefined };
    } while (next !== undefined);
  }

  async #page<Shape>(
    call: Call,
    kind: Kind<Shape>,
    selection: Selection,
    from: string | undefined,
  ): Promise<ListAnswer<Shape>> {
    for (let attempt = 1; ; attempt += 1) {
      const pageSize = this.#pageSizes.get(kind.plural) ?? largestPage;
      const path = collectionPath(kind, selection, { limit: String(pageSize), continue: from });
      try {
        // A single object is read whatever its length: there is no smaller page.
        const text = await this.#transport.text(call, path, pageSize === 1 ? undefined : pageLimitBytes);
        const list = JSON.parse(text) as ListAnswer<Shape>;
        const page = { objects: list.items.length, bytes: text.length };
        this.#pageSizes.set(kind.plural, nextPageSize(pageSize, page));
        if (attempt > 1)
          call.log.info("pages of a list are small", { kind: kind.kind, ...page, ...largestOf(list.items) });
        return list;
      } catch (error) {
        if (!(error instanceof AnswerTooLargeError) || pageSize === 1) throw error;
        const smaller = smallerPageSize(pageSize);
        this.#pageSizes.set(kind.plural, smaller);
        const fields = { kind: kind.kind, objects: pageSize, limitBytes: pageLimitBytes, nextObjects: smaller };
        call.log.info("a page of a list is too large, asking for a smaller one", fields);
      }
    }
  }

  /**
   * Resolves when the server has accepted the watch. The stream ends when the server ends it, and throws if the connection fails,
   * is silent for too long, or the call is aborted. The caller must read it to its end or return it.
   */
  async watch<Shape>(
    call: Call,
    kind: Kind<Shape>,
    selection: Selection,
    parameters: Readonly<Record<string, string>>,
  ): Promise<AsyncGenerator<WatchEvent<Shape>>> {
    const path = collectionPath(kind, selection, { watch: "true", ...parameters });
    return eventsIn<Shape>(await this.#transport.lines(call, path));
  }

  /** For a reader of paths instead of kinds. Does not wait while the server refuses requests: the reader has a back-off of its own. */
  async text(call: Call, path: string): Promise<string> {
    return await this.#transport.text(call, path);
  }

  /** Resolves when the server has accepted the request; the stream is as that of `watch`. */
  async lines(call: Call, path: string): Promise<AsyncGenerator<string>> {
    return await this.#transport.lines(call, path);
  }

  /** Rejects with AlreadyExists if the name is taken. Never repeated: the object may exist although the connection broke. */
  async create<Shape>(call: GuardedCall, kind: Kind<Shape>, object: { readonly metadata: Ref }): Promise<Shape> {
    const path = pathOf(kind, { namespace: object.metadata.namespace });
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, ...object };
    return (await this.#json(call, { method: "POST", path, body, isUrgent: isLease(kind) })) as Shape;
  }

  /** Asks a question that the server answers in the status of the object, such as a TokenReview. The server stores nothing. */
  async review<Shape>(call: Call, kind: Kind<Shape>, spec: object): Promise<Shape> {
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, spec };
    return (await this.#json(call, { method: "POST", path: pathOf(kind, {}), body })) as Shape;
  }

  /**
   * A JSON merge patch: null removes a field, and a list is replaced as a whole. The write is unconditional, unless the patch has
   * `metadata.resourceVersion`: then it rejects with Conflict if the object has changed since that version.
   */
  async patch<Shape>(call: GuardedCall, kind: Kind<Shape>, ref: Ref, patch: object): Promise<Shape> {
    const contentType = "application/merge-patch+json";
    const exchange = {
      method: "PATCH",
      path: pathOf(kind, ref),
      body: patch,
      contentType,
      isUrgent: isLease(kind),
    } as const;
    return (await this.#json(call, exchange)) as Shape;
  }

  /**
   * Server-side apply of the status fields of one manager: fields that the manager applied before and leaves out now are removed,
   * and fields of others stay. Never creates the object. Rejects with Conflict if the name belongs to an object with another UID.
   */
  async applyStatus<Shape>(
    call: GuardedCall,
    kind: Kind<Shape>,
    { name, namespace, uid }: Ref & { readonly uid: string },
    applied: { readonly manager: string; readonly status: object },
  ): Promise<Shape> {
    const query = new URLSearchParams({ fieldManager: applied.manager, force: "true" });
    const path = `${pathOf(kind, { name, namespace })}/status?${query.toString()}`;
    const metadata = { name, namespace, uid };
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, status: applied.status };
    // JSON is YAML, too.
    const contentType = "application/apply-patch+yaml";
    return (await this.#json(call, { method: "PATCH", path, body, contentType })) as Shape;
  }

  /**
   * Deletes the object with this UID and, if given, this version; rejects with Conflict if the name belongs to another by now.
   * Resolves if the object is gone already. The object may still exist afterwards, with finalizers or a grace period.
   */
  async delete(
    call: GuardedCall,
    kind: Kind<KubeObject>,
    ref: Ref,
    preconditions: { readonly uid: string; readonly resourceVersion?: string },
  ): Promise<void> {
    const { uid, resourceVersion } = preconditions;
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } };
    try {
      await this.#json(call, { method: "DELETE", path: pathOf(kind, ref), body });
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error;
    }
  }

  /** The last lines that a container of a Pod has printed, at most 64 KiB. */
  async logTail(call: Call, ref: Ref, { container, lines }: { container: string; lines: number }): Promise<string> {
    const query = new URLSearchParams({ container, tailLines: String(lines), limitBytes: String(logLimitBytes) });
    return await this.#transport.text(call, `${pathOf(kinds.pods, ref)}/log?${query.toString()}`);
  }

  /** Such as "v1.36.3". */
  async serverVersion(call: Call): Promise<string> {
    const { gitVersion } = (await this.#json(call, { method: "GET", path: "/version" })) as { gitVersion: string };
    return gitVersion;
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }

  #json(call: GuardedCall, exchange: Exchange): Promise<unknown> {
    return this.#transport.json(call, exchange);
  }
}

/** Lines may be of any length. */
const logLimitBytes = 64 * 1024;

/** A leader that cannot renew its lease in time stops, so renewals do not queue behind other requests. */
function isLease(kind: Kind<unknown>): boolean {
  return kind === kinds.leases;
}

interface ListAnswer<Shape> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly Shape[];
}

async function* eventsIn<Shape>(lines: AsyncGenerator<string>): AsyncGenerator<WatchEvent<Shape>> {
  for await (const line of lines) yield JSON.parse(line) as WatchEvent<Shape>;
}

function collectionPath(
  kind: Kind<unknown>,
  { namespace, labelSelector, fieldSelector }: Selection,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ labelSelector, fieldSelector, ...parameters })) {
    if (value !== undefined) query.set(name, value);
  }
  return `${pathOf(kind, { namespace })}?${query.toString()}`;
}

function pathOf(kind: Kind<unknown>, { namespace, name }: Partial<Ref>): string {
  const group = kind.apiVersion.includes("/") ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const parts = [group];
  if (kind.scope === "namespaced" && namespace !== undefined) parts.push("namespaces", encodeURIComponent(namespace));
  parts.push(kind.plural);
  if (name !== undefined) parts.push(encodeURIComponent(name));
  return parts.join("/");
}
