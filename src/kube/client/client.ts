/** The verbs of the Kubernetes API that we use, typed by kind. */
import type { Call } from "../../runtime/call.ts";
import { type Kind, type KubeObject, kinds } from "../kinds.ts";
import { ApiError, type Status } from "./api-error.ts";
import type { Credentials } from "./credentials.ts";
import { type Exchange, Transport, type TransportOptions } from "./transport.ts";

/** Names an object; `metadata` of any object will do. */
export interface Ref {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Narrows a list or a watch, on the server. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface Page<Shape> {
  readonly objects: readonly Shape[];
  readonly version: string;
  readonly last: boolean;
}

/** As it travels on the wire; a bookmark's object has nothing but a version and annotations. */
export type WatchEvent<Shape> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: Shape }
  | { readonly type: "ERROR"; readonly object: Status };

export class KubeClient implements Disposable {
  readonly #transport: Transport;

  constructor(credentials: Credentials, options: TransportOptions) {
    this.#transport = new Transport(credentials, options);
  }

  async get<Shape>(call: Call, kind: Kind<Shape>, ref: Ref): Promise<Shape | undefined> {
    try {
      return (await this.#json(call, { method: "GET", path: pathOf(kind, ref) })) as Shape;
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }

  async list<Shape>(call: Call, kind: Kind<Shape>, selection: Selection = {}): Promise<Shape[]> {
    const objects: Shape[] = [];
    for await (const page of this.pages(call, kind, selection)) objects.push(...page.objects);
    return objects;
  }

  /** A list in pages, so that a reader who keeps little never holds much. */
  async *pages<Shape>(call: Call, kind: Kind<Shape>, selection: Selection): AsyncGenerator<Page<Shape>> {
    let next: string | undefined;
    do {
      const path = collectionPath(kind, selection, { limit: "500", continue: next });
      const list = (await this.#json(call, { method: "GET", path })) as ListAnswer<Shape>;
      next = list.metadata.continue || undefined;
      yield { objects: list.items, version: list.metadata.resourceVersion, last: next === undefined };
    } while (next !== undefined);
  }

  /** The promise is kept once the server agreed; the stream then lasts until it ends, fails or falls silent. */
  async watch<Shape>(
    call: Call,
    kind: Kind<Shape>,
    selection: Selection,
    parameters: Readonly<Record<string, string>>,
  ): Promise<AsyncGenerator<WatchEvent<Shape>>> {
    const path = collectionPath(kind, selection, { watch: "true", ...parameters });
    return eventsIn<Shape>(await this.#transport.lines(call, path));
  }

  async create<Shape>(call: Call, kind: Kind<Shape>, object: { readonly metadata: Ref }): Promise<Shape> {
    const path = pathOf(kind, { namespace: object.metadata.namespace });
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, ...object };
    return (await this.#json(call, { method: "POST", path, body })) as Shape;
  }

  /**
   * A JSON merge patch: null removes a field, a list is replaced as a whole. With `metadata.resourceVersion` in it,
   * the server refuses the patch (Conflict) if the object has changed since.
   */
  async patch<Shape>(call: Call, kind: Kind<Shape>, ref: Ref, patch: object): Promise<Shape> {
    const contentType = "application/merge-patch+json";
    return (await this.#json(call, { method: "PATCH", path: pathOf(kind, ref), body: patch, contentType })) as Shape;
  }

  /**
   * Server-side apply of all that this manager says in the status: what it said before and does not say now is removed,
   * fields of others stay. Never creates; with another object under the name by now it is a Conflict.
   */
  async applyStatus<Shape>(
    call: Call,
    kind: Kind<Shape>,
    { name, namespace, uid }: Ref & { readonly uid: string },
    said: { readonly manager: string; readonly status: object },
  ): Promise<Shape> {
    const query = new URLSearchParams({ fieldManager: said.manager, force: "true" });
    const path = `${pathOf(kind, { name, namespace })}/status?${query.toString()}`;
    const metadata = { name, namespace, uid };
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, status: said.status };
    // JSON is YAML, too.
    const contentType = "application/apply-patch+yaml";
    return (await this.#json(call, { method: "PATCH", path, body, contentType })) as Shape;
  }

  /** Deletes exactly the object that was looked at; one that is gone already is what was wanted. */
  async delete(
    call: Call,
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

  /** The end of what a container of a Pod has printed. */
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

  #json(call: Call, exchange: Exchange): Promise<unknown> {
    return this.#transport.json(call, exchange);
  }
}

/** Lines may be of any length. */
const logLimitBytes = 64 * 1024;

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
