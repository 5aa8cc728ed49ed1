/** The client of one replica: the verbs of KubeClient, over a network that delays, loses and refuses. */
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeClient, Page, Ref, Selection, WatchEvent } from "../../src/kube/client/client.ts";
import { SilenceError } from "../../src/kube/client/transport.ts";
import { type Kind, type KubeObject, kinds } from "../../src/kube/kinds.ts";
import type { Call } from "../../src/runtime/call.ts";
import { type ApiServer, isSelected, type ServerEvent, type Writer } from "./api-server.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Release } from "./release.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { cutConnection, failedConnection, WatchStream } from "./watch-stream.ts";
import { refusalFor, type Weather } from "./weather.ts";

/** As in the transport of the client. */
const answerLimitMs = 65_000;
const bookmarkMs = 60_000;
/** Far below that of the client, so that a few objects make several pages. */
const pageSize = 3;

export interface ConnectionOptions {
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly process: SimulatedProcess;
  readonly weather: Weather;
  /** Who holds the lease now, as the server has it. */
  readonly leader: () => string | undefined;
  readonly mayUseLeases: boolean;
  /** Whether the server has the WatchList feature. */
  readonly hasWatchList: boolean;
  readonly onRequest: (verb: string, kind: Kind<unknown>) => void;
  /** undefined: not of a reconciler. */
  readonly release?: Release;
}

type Verbs = Pick<
  KubeClient,
  | "get"
  | "find"
  | "list"
  | "listCached"
  | "pages"
  | "watch"
  | "create"
  | "patch"
  | "applyStatus"
  | "delete"
  | "logTail"
  | "serverVersion"
>;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #streams = new Map<WatchStream, string>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** The part of the client that the reconciler uses. */
  get client(): KubeClient {
    const { server } = this.#options;
    const verbs: Partial<Verbs> = {
      get: (call, kind, ref) => this.#repeatable(call, ["get", kind], () => server.get(kind, ref)),
      find: <Shape>(call: Call, kind: Kind<Shape>, ref: Ref) =>
        this.#repeatable(call, ["list", kind], () => ({
          object: server.get(kind, ref),
          version: String(server.version),
        })),
      list: async <Shape>(call: Call, kind: Kind<Shape>, selection?: Selection) => {
        const found = await this.#repeatable(call, ["list", kind], () => server.list(kind, selection ?? {}));
        return [...found];
      },
      listCached: (call, kind, selection) => this.#repeatable(call, ["list", kind], () => server.list(kind, selection)),
      pages: (call, kind, selection) => this.#pages(call, kind, selection),
      watch: async <Shape>(call: Call, kind: Kind<Shape>, selection: Selection, parameters: Parameters) =>
        (await this.#watch(call, kind, selection, parameters)) as AsyncGenerator<WatchEvent<Shape>>,
      serverVersion: async () => "v1.36.3",
      create: <Shape>(call: Call, kind: Kind<Shape>, object: { readonly metadata: Ref }) =>
        this.#ask(call, ["create", kind], (by) => server.create(kind, object, by) as Shape),
      patch: <Shape>(call: Call, kind: Kind<Shape>, ref: Ref, patch: object) =>
        this.#repeatable(call, ["patch", kind], (by) => server.patch(kind, ref, patch, by) as Shape),
      applyStatus: <Shape>(call: Call, kind: Kind<Shape>, ref: Ref & { uid: string }, applied: Applied) =>
        this.#repeatable(call, ["apply", kind], (by) => server.applyStatus(kind, ref, applied, by) as Shape),
      delete: (call, kind, ref, conditions) => this.#delete(call, kind, ref, conditions),
    };
    return verbs as unknown as KubeClient;
  }

  /** The API server restarts: every connection breaks. */
  cutStreams(): void {
    for (const stream of this.#streams.keys()) stream.cut();
  }

  /** The watches of this kind that are open now deliver nothing more. */
  standStill(plural: string): void {
    for (const [stream, kind] of this.#streams) if (kind === plural) stream.standStill();
  }

  async #delete(call: Call, kind: Kind<KubeObject>, ref: Ref, conditions: { uid: string; resourceVersion?: string }) {
    const { server } = this.#options;
    try {
      await this.#repeatable(call, ["delete", kind], (by) => server.delete(kind, ref, conditions, by));
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error;
    }
  }

  async *#pages<Shape>(call: Call, kind: Kind<Shape>, selection: Selection): AsyncGenerator<Page<Shape>> {
    const { server } = this.#options;
    const first = () => ({ all: server.list(kind, selection), version: String(server.version) });
    const { all, version } = await this.#repeatable(call, ["list", kind], first);
    for (let from = 0; ; from += pageSize) {
      const last = from + pageSize >= all.length;
      yield { objects: all.slice(from, from + pageSize), version, last };
      if (last) return;
      await this.#repeatable(call, ["list", kind], () => undefined);
    }
  }

  async #watch(
    call: Call,
    kind: Kind<unknown>,
    selection: Selection,
    parameters: Parameters,
  ): Promise<AsyncGenerator<WatchEvent<unknown>>> {
    const stream = await this.#ask(call, ["watch", kind], () => this.#opened(kind, selection, parameters));
    return stream.events(call.signal);
  }

  #opened(kind: Kind<unknown>, selection: Selection, parameters: Parameters): WatchStream {
    const { server, time, process, weather, hasWatchList } = this.#options;
    const { sendInitialEvents, resourceVersion, timeoutSeconds } = parameters;
    const hasInitial = sendInitialEvents === "true";
    if (hasInitial && !hasWatchList) {
      throw new ApiError(422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature is on");
    }
    const send = (type: WatchEvent<unknown>["type"], object: unknown) =>
      stream.send({ type, object } as WatchEvent<unknown>);
    const from = hasInitial ? server.version : Number(resourceVersion);
    const sendIfSelected = ({ type, object }: ServerEvent) => {
      if (isSelected(object, selection)) send(type, object);
    };
    const { changes, end } = server.watch(kind, from, sendIfSelected);
    const onClose = () => {
      end();
      this.#streams.delete(stream);
    };
    const delayMs = () => weather.latencyMs() + weather.latenessMs(kind.plural);
    const stream = new WatchStream({ time, process, delayMs, onClose });
    this.#streams.set(stream, kind.plural);
    if (hasInitial) {
      for (const object of server.list(kind, selection)) send("ADDED", object);
      send("BOOKMARK", bookmark(from, { "k8s.io/initial-events-end": "true" }));
    }
    for (const change of changes) sendIfSelected(change);
    this.#sendBookmarks(stream, send);
    time.after(1000 * Number(timeoutSeconds), () => stream.finish());
    return stream;
  }

  #sendBookmarks(stream: WatchStream, send: (type: "BOOKMARK", object: unknown) => void): void {
    const { server, time } = this.#options;
    time.after(bookmarkMs, () => {
      if (!this.#streams.has(stream)) return;
      send("BOOKMARK", bookmark(server.version));
      this.#sendBookmarks(stream, send);
    });
  }

  /** The client repeats a request once if the connection breaks. */
  async #repeatable<Answer>(call: Call, what: What, perform: (by: Writer) => Answer): Promise<Answer> {
    try {
      return await this.#ask(call, what, perform);
    } catch (error) {
      const isCut = error instanceof Error && error.cause instanceof Error && "code" in error.cause;
      if (!isCut) throw error;
      return await this.#ask(call, what, perform);
    }
  }

  #ask<Answer>(call: Call, [verb, kind]: What, perform: (by: Writer) => Answer): Promise<Answer> {
    const { time, process, weather, leader, onRequest, release } = this.#options;
    call.signal.throwIfAborted();
    onRequest(verb, kind);
    const by = { name: process.name, leaderWhenSent: leader(), process, term: process.terms, release };
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const abort = () => reject(call.signal.reason as Error);
    call.signal.addEventListener("abort", abort);
    const settle = (how: () => void, afterMs = weather.latencyMs()) =>
      void time.after(afterMs, () =>
        process.deliver(() => {
          call.signal.removeEventListener("abort", abort);
          how();
        }),
      );
    const answer = () => {
      try {
        const value = this.#performed(kind, () => perform(by));
        return () => resolve(value);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return () => reject(error);
      }
    };
    const fate = weather.fate();
    time.after(weather.latencyMs(), () => {
      switch (fate) {
        case "passed":
          return settle(answer());
        case "tooManyRequests":
        case "failed":
          return settle(() => reject(refusalFor(fate)));
        case "cutAfter":
          answer();
          return settle(() => reject(cutConnection("ECONNRESET")));
        case "cutBefore":
          return settle(() => reject(cutConnection("ECONNRESET")));
        case "unanswered":
          answer();
          return settle(() => reject(failedConnection(new SilenceError(answerLimitMs))), answerLimitMs);
        default:
          return fate satisfies never;
      }
    });
    return promise;
  }

  #performed<Answer>({ plural }: Kind<unknown>, perform: () => Answer): Answer {
    if (plural === kinds.leases.plural && !this.#options.mayUseLeases) {
      throw new ApiError(403, "Forbidden", 'leases.coordination.k8s.io is forbidden: cannot get resource "leases"');
    }
    return perform();
  }
}

type What = readonly [verb: string, kind: Kind<unknown>];
type Parameters = Readonly<Record<string, string>>;
interface Applied {
  readonly manager: string;
  readonly status: object;
}

function bookmark(version: number, annotations?: Readonly<Record<string, string>>) {
  return { metadata: { resourceVersion: String(version), ...(annotations && { annotations }) } };
}
