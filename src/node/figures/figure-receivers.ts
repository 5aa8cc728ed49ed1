/**
 * Receives what mount-s3 exports about itself. mount-s3 sends OTLP over HTTP only, so the node plugin listens on the loopback address of the
 * network namespace of each Mountpoint Pod: only processes of that Pod reach it, no port is open on any network, and the figures
 * need no proof of where they come from.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { PodName, PodUid } from "../../core/names.ts";
import { type OtlpPoint, otlpPoints } from "../../metrics/otlp.ts";
import type { Logger } from "../../runtime/log.ts";
import { VolumeFigures } from "./volume-figures.ts";

/** An export takes about 20 KB. */
const bodyLimitBytes = 256 * 1024;
/** mount-s3 exports every 15 s. Exports are cumulative, so one that is ignored is made up for by the next. */
const usualPauseMs = 5000;

export interface Exporter {
  readonly name: PodName;
  readonly uid: PodUid;
}

interface Receiver {
  readonly uid: PodUid;
  readonly server: Server;
  readonly figures: VolumeFigures;
}

export class FigureReceivers implements Disposable {
  readonly #pauseMs: number;
  readonly #receivers = new Map<PodName, Receiver>();

  /** `pauseMs`: exports of one Pod that come sooner after each other are not read. */
  constructor(pauseMs = usualPauseMs) {
    this.#pauseMs = pauseMs;
  }

  /** The figures of every volume from which something was or may be received. */
  get figures(): readonly (readonly [PodName, VolumeFigures])[] {
    return Array.from(this.#receivers, ([name, { figures }]) => [name, figures] as const);
  }

  isListening({ name, uid }: Exporter): boolean {
    return this.#receivers.get(name)?.uid === uid;
  }

  /** Resolves when exports are received on the socket, which is bound in the network of this Mountpoint Pod. Takes ownership of the descriptor. */
  async listen(log: Logger, { name, uid }: Exporter, fd: number): Promise<void> {
    const figures = new VolumeFigures();
    let readAtMs = -Infinity;
    const server = createServer((request, response) => {
      const isDue = performance.now() - readAtMs >= this.#pauseMs;
      if (isDue) readAtMs = performance.now();
      answer(request, response, isDue ? (points) => figures.add(points) : undefined);
    });
    // mount-s3 needs one connection.
    server.maxConnections = 4;
    server.requestTimeout = 10_000;
    server.listen({ fd });
    await once(server, "listening");
    server.on("error", (error) => log.error("exports of mount-s3 cannot be received", { mountpointPod: name, error }));
    server.unref();
    this.drop(name);
    this.#receivers.set(name, { uid, server, figures });
  }

  /** The Mountpoint Pod has ended: its figures go with it. */
  drop(name: PodName): void {
    const receiver = this.#receivers.get(name);
    receiver?.server.close();
    receiver?.server.closeAllConnections();
    this.#receivers.delete(name);
  }

  get names(): readonly PodName[] {
    return [...this.#receivers.keys()];
  }

  [Symbol.dispose](): void {
    for (const name of this.names) this.drop(name);
  }
}

type Receive = (points: readonly OtlpPoint[]) => void;

/** `receive` is undefined for an export that is not read. */
function answer(request: IncomingMessage, response: ServerResponse, receive: Receive | undefined): void {
  const refuse = (code: number) => void response.writeHead(code, { connection: "close" }).end();
  if (request.method !== "POST" || request.url !== "/v1/metrics") return refuse(404);
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bodyLimitBytes && receive !== undefined) chunks.push(chunk);
  });
  request.on("end", () => {
    if (bytes > bodyLimitBytes) refuse(413);
    else if (receive !== undefined && !isReceived(Buffer.concat(chunks), receive)) refuse(400);
    // An empty body is an empty ExportMetricsServiceResponse: everything was accepted.
    else response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  request.on("error", () => response.destroy());
}

function isReceived(body: Buffer, receive: Receive): boolean {
  try {
    receive(otlpPoints(body));
    return true;
  } catch {
    return false; // not a message of OTLP
  }
}
