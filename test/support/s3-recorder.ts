/**
 * Stands between the nodes and an S3 server of the lab while it is open, and writes down who asked for what. Nodes keep
 * their endpoint: packets to it are led here, so the host that requests are signed for stays right.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { network } from "../../lab/layout.ts";
import { run } from "../../lab/run.ts";
import type { Cluster } from "./cluster.ts";

/** What a signature says about its request. */
export interface S3Request {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly accessKeyId: string;
  readonly region: string;
  readonly signedHeaders: readonly string[];
  readonly sessionToken: string | undefined;
}

export class S3Recorder implements AsyncDisposable {
  readonly requests: S3Request[] = [];
  readonly #server = createServer((incoming, answer) => this.#serve(incoming, answer));
  readonly #cluster: Cluster;
  readonly #port: number;
  readonly #ports = new Map<string, number>();
  readonly #empty = new Set<string>();
  readonly #holds = new Set<{ readonly isMeant: (asked: S3Request) => boolean; readonly over: Promise<void> }>();

  private constructor(cluster: Cluster, port: number) {
    this.#cluster = cluster;
    this.#port = port;
  }

  /** The server is known by its port. */
  static async open(cluster: Cluster, port: number = network.s3Port): Promise<S3Recorder> {
    const recorder = new S3Recorder(cluster, port);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    recorder.#server.once("error", reject).listen(0, network.hub, resolve);
    await promise;
    await recorder.#redirect("-A");
    return recorder;
  }

  /** Requests with these keys go to a server on another port. */
  leadTo(accessKeyId: string, port: number): void {
    this.#ports.set(accessKeyId, port);
  }

  /** Requests with these keys see a bucket without any object: the lab's server knows no temporary keys. */
  answerEmpty(accessKeyId: string): void {
    this.#empty.add(accessKeyId);
  }

  /** Requests that are meant get no answer before the end of the scope. */
  holdBack(isMeant: (asked: S3Request) => boolean): Disposable {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const hold = { isMeant, over };
    this.#holds.add(hold);
    return {
      [Symbol.dispose]: () => {
        this.#holds.delete(hold);
        resolve();
      },
    };
  }

  /** Keys that were used on a bucket, oldest first. */
  keysUsedOn(bucket: string): readonly string[] {
    return this.requests.filter(({ path }) => path.startsWith(`/${bucket}`)).map(({ accessKeyId }) => accessKeyId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redirect("-D");
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  #serve(incoming: IncomingMessage, answer: ServerResponse): void {
    const recorded = recordOf(incoming);
    this.requests.push(recorded);
    if (this.#empty.has(recorded.accessKeyId)) {
      answer.setHeader("Content-Type", "application/xml").end(emptyListing);
      return;
    }
    const holds = [...this.#holds].filter(({ isMeant }) => isMeant(recorded)).map(({ over }) => over);
    Promise.all(holds).then(
      () => this.#forward(recorded, incoming, answer),
      () => answer.destroy(),
    );
  }

  #forward({ accessKeyId }: S3Request, incoming: IncomingMessage, answer: ServerResponse): void {
    const port = this.#ports.get(accessKeyId) ?? this.#port;
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    forwarded.once("error", () => answer.destroy());
    incoming.pipe(forwarded);
  }

  async #redirect(how: "-A" | "-D"): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    const packets = ["-p", "tcp", "-d", network.hub, "--dport", String(this.#port)];
    const rule = ["iptables", "-w", "-t", "nat", how, "PREROUTING", ...packets, "-j", "REDIRECT", "--to-ports"];
    await run(this.#cluster.lab.inNetwork([...rule, String(port)]), { signal: AbortSignal.timeout(60_000) });
  }
}

const emptyListing =
  '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>';

function recordOf({ method = "", url = "", headers }: IncomingMessage): S3Request {
  const [, accessKeyId = "", region = "", signed = ""] =
    /Credential=(.+)\/\d{8}\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+)/.exec(headers.authorization ?? "") ?? [];
  const token = headers["x-amz-security-token"];
  return {
    method,
    path: url,
    accessKeyId,
    region,
    signedHeaders: signed.split(";"),
    sessionToken: typeof token === "string" ? token : undefined,
  };
}
