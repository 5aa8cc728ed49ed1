/** A way to the API server on which things go wrong: for one process, while everybody else goes straight. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { kubeconfigCredentials } from "../../src/kube/credentials.ts";

/** What becomes of a write. lost: the server takes it, and nobody hears of that. held: nothing, for as long as this lasts. */
export type Fate = "passed" | "refused" | "lost" | "held";

export interface Faults {
  readonly fateOf: (method: string, path: string) => Fate;
  /** What becomes of a read, which includes lists and watches; absent: all pass. */
  readonly fateOfRead?: (path: string) => Exclude<Fate, "lost">;
  /** How much later than the server says it a piece of a watch arrives. */
  readonly latenessMs: () => number;
  /** Of which watches nothing arrives at all, for as long as this lasts. */
  readonly standsStill?: (path: string) => boolean;
}

export class FaultyWay implements AsyncDisposable {
  /** For a client that is to go this way. */
  readonly kubeconfig: string;
  /** Writes that met another fate than to pass, each with it. */
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
    const fate = method === "GET" ? (this.#wish.fateOfRead?.(url) ?? "passed") : this.#wish.fateOf(method, url);
    if (fate !== "passed") this.faults.push(`${method} ${url}: ${fate}`);
    if (fate === "held") {
      this.#held.push(answer);
      return;
    }
    if (fate === "refused") {
      answer
        .writeHead(500)
        .end(JSON.stringify({ kind: "Status", code: 500, reason: "InternalError", message: "injected" }));
      return;
    }
    const from = await this.#forward(asked, body);
    // Nobody is left to hear the rest of it, which may be a watch.
    answer.once("close", () => from.destroy());
    if (fate === "passed") return await this.#pass(from, answer, url);
    await from.toArray();
    answer.destroy();
  }

  async #pass(from: IncomingMessage, answer: ServerResponse, path: string): Promise<void> {
    answer.writeHead(from.statusCode ?? 500, from.headers).flushHeaders();
    const isWatch = path.includes("watch=true");
    for await (const piece of from) {
      if (isWatch) await this.#hesitate(path);
      answer.write(piece);
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
