/** An API server for tests of what reads it: the wire ring has no real one. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface Review {
  readonly kind: string;
  readonly spec: {
    readonly token?: string;
    readonly user?: string;
    readonly resourceAttributes?: {
      readonly group?: string;
      readonly resource?: string;
      readonly verb?: string;
      readonly namespace?: string;
    };
  };
}

/** Lists what it is told, and keeps watches open. */
export class FakeApiServer {
  volumes: object[] = [];
  refused = new Set<string>();
  /** Addresses of Pods with the label of node plugins. */
  nodePlugins: readonly string[] = [];
  /** What they serve through the proxy; undefined: the user may not use it. */
  metrics: string | undefined;
  /** Paths of requests through the proxy, in order. */
  readonly proxied: string[] = [];
  /** Token → user, for TokenReviews. */
  readonly users = new Map<string, string>();
  /** User → plural names of what the user may list in the whole cluster, for SubjectAccessReviews. */
  readonly rights = new Map<string, ReadonlySet<string>>();
  /** Whether reviews are answered with an error. */
  failsReviews = false;
  /** Paths of lists, in order. */
  readonly lists: string[] = [];
  /** Methods and paths of all other requests but watches, in order. */
  readonly reviews: string[] = [];
  readonly #watches = new Map<ServerResponse, string>();
  #server: Server | undefined;
  port = 0;

  async start(): Promise<void> {
    this.#server = createServer((request, response) => this.#answer(request, response));
    await new Promise<void>((resolve) => this.#server?.listen(this.port, "127.0.0.1", resolve));
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.#server?.close(resolve);
      this.#server?.closeAllConnections();
    });
  }

  /** To every watch of a collection. */
  send(collection: string, type: string, object: object): void {
    for (const [watch, path] of this.#watches) {
      if (path.endsWith(`/${collection}`)) watch.write(`${JSON.stringify({ type, object })}\n`);
    }
  }

  get watched(): readonly string[] {
    return [...this.#watches.values()].map((path) => path.split("/").at(-1) ?? "");
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = "", method } = request;
    if (method === "GET") {
      this.#show(url, response);
      return;
    }
    this.reviews.push(`${method} ${url}`);
    text(request).then(
      (body) => this.#review(JSON.parse(body) as Review, response),
      () => response.destroy(),
    );
  }

  #review({ kind, spec }: Review, response: ServerResponse): void {
    if (this.failsReviews) {
      response.writeHead(500).end("{}");
      return;
    }
    const status = kind === "TokenReview" ? this.#known(spec) : { allowed: this.#mayList(spec) };
    response.writeHead(201).end(JSON.stringify({ kind, status }));
  }

  #known({ token = "" }: Review["spec"]): object {
    const username = this.users.get(token);
    return { authenticated: username !== undefined, user: { username } };
  }

  #mayList({ user = "", resourceAttributes: asked = {} }: Review["spec"]): boolean {
    const { group = "", resource = "", verb, namespace } = asked;
    if (verb !== "list" || namespace !== undefined) return false;
    return this.rights.get(user)?.has(group === "" ? resource : `${resource}.${group}`) ?? false;
  }

  #show(url: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://api");
    const collection = pathname.split("/").at(-1) ?? "";
    if (pathname.includes("/proxy/")) {
      this.proxied.push(pathname);
      response.writeHead(this.metrics === undefined ? 403 : 200).end(this.metrics ?? "{}");
    } else if (searchParams.get("labelSelector") === "app=s3-csi-node") {
      const items = this.nodePlugins.map((podIP, at) => ({
        metadata: { name: `node-plugin-${at}` },
        status: { podIP },
      }));
      response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items }));
    } else if (this.refused.has(collection)) {
      response.writeHead(403).end(JSON.stringify({ message: "forbidden" }));
    } else if (searchParams.has("watch")) {
      response.writeHead(200).flushHeaders();
      this.#watches.set(response, pathname);
      response.on("close", () => this.#watches.delete(response));
    } else {
      this.lists.push(collection);
      const items = collection === "persistentvolumes" ? this.volumes : [];
      response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items }));
    }
  }
}
