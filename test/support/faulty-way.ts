/** A way to the API server on which things go wrong: for one process, while everybody else goes straight. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";

/**
 * What becomes of a request. lost: the server takes it, and nobody hears of that. cut: the connection breaks after the first piece of
 * the answer, as when the server restarts. held: nothing, for as long as this lasts. A code: the server refuses it so.
 */
export type Fate = "passed" | "lost" | "cut" | "held" | keyof typeof refusals;

/** As the API server, its priority levels, a load balancer before it, etcd and the authorizer answer in a bad hour. */
const refusals = {
  401: "Unauthorized",
  403: "Forbidden",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
} as const;

/** What passes, as an operator would say; 422 does not: it is what a server without a feature says. */
export const codes = [403, 429, 500, 503, 504] as const satisfies (keyof typeof refusals)[];

export interface Faults {
  /** Asked for reads and watches, too. */
  readonly fateOf: (method: string, path: string) => Fate;
  /** How much later than the server says it a piece of a watch arrives. */
  readonly latenessMs: () => number;
  /** Of which watches nothing arrives at all, for as long as this lasts. */
  readonly standsStill?: (path: string) => boolean;
}

export class FaultyWay implements AsyncDisposable {
  /** For a client that is to go this way. */
  readonly kubeconfig: string;
  /** Requests that met another fate than to pass, each with it. */
  readonly faults: string[] = [];
  /** Everything that was asked for on this way. */
  readonly requests: Pick<IncomingMessage, "method" | "url">[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), "faulty-way-"));
  readonly #server: Server;
  readonly #target: ReturnType<typeof kubeconfigCredentials>;
  readonly #held: ServerResponse[] = [];
  #wish: Faults;
  #changed = Promise.withResolvers<void>();

  private constructor(kubeconfig: string, faults: Faults) {
    this.#wish = faults;
    this.#target = kubeconfigCredentials(kubeconfig);
    this.#server = createServer((asked, answer) => void this.#serve(asked, answer).catch(() => answer.destroy()));
    this.kubeconfig = join(this.#directory, "kubeconfig");
  }

  static async open(kubeconfig: string, faults: Faults): Promise<FaultyWay> {
    const way = new FaultyWay(kubeconfig, faults);
    way.#server.listen(0, "127.0.0.1");
    await once(way.#server, "listening");
    const { port } = way.#server.address() as AddressInfo;
    const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as { clusters: { cluster: object }[] };
    const clusters = config.clusters.map((one) => ({ ...one, cluster: { server: `http://127.0.0.1:${port}` } }));
    writeFileSync(way.kubeconfig, JSON.stringify({ ...config, clusters }));
    return way;
  }

  /** From now on. What is held is cut off. */
  become(faults: Faults): void {
    this.#wish = faults;
    for (const answer of this.#held.splice(0)) answer.destroy();
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Watches and connections that are open end. New ones meet the faults of now. */
  cutOff(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
    rmSync(this.#directory, { recursive: true });
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = "", url = "" } = asked;
    this.requests.push({ method, url });
    const body = Buffer.concat(await asked.toArray());
    const fate = this.#wish.fateOf(method, url);
    if (fate !== "passed") this.faults.push(`${method} ${url}: ${fate}`);
    if (fate === "held") {
      this.#held.push(answer);
      return;
    }
    if (typeof fate === "number") {
      const status = { kind: "Status", code: fate, reason: refusals[fate], message: "injected" };
      answer.writeHead(fate, fate === 429 ? { "retry-after": "1" } : {}).end(JSON.stringify(status));
      return;
    }
    const from = await this.#forward(asked, body);
    // Nobody is left to hear the rest of it, which may be a watch.
    answer.once("close", () => from.destroy());
    if (fate === "lost") {
      await from.toArray();
      answer.destroy();
      return;
    }
    await this.#pass(from, answer, { path: url, isCut: fate === "cut" });
  }

  async #pass(
    from: IncomingMessage,
    answer: ServerResponse,
    { path, isCut }: { readonly path: string; readonly isCut: boolean },
  ): Promise<void> {
    answer.writeHead(from.statusCode ?? 500, from.headers).flushHeaders();
    const isWatch = path.includes("watch=true");
    for await (const piece of from) {
      if (isWatch) await this.#hesitate(path);
      answer.write(piece);
      if (isCut) {
        answer.destroy();
        return;
      }
    }
    answer.end();
  }

  async #hesitate(path: string): Promise<void> {
    await delay(this.#wish.latenessMs());
    if (!this.#wish.standsStill?.(path)) return;
    await this.#changed.promise;
    await this.#hesitate(path);
  }

  async #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { server } = this.#target;
    const tls = this.#target.tls();
    const to = { host: server.hostname, port: server.port, method, path: url, headers, ...tls, key: tls.key?.reveal() };
    const sent = request(to);
    sent.end(body);
    const [from] = (await once(sent, "response")) as [IncomingMessage];
    return from;
  }
}
