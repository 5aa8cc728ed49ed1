/**
 * Receives what mount-s3 exports about itself. mount-s3 sends OTLP over HTTP only, so the node plugin listens on the loopback address of the
 * network namespace of each Mountpoint Pod: only processes of that Pod reach it, no port is open on any network, and the figures
 * need no proof of where they come from.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { DriverError } from "../../core/errors.ts";
import type { MountRequest } from "../../core/mount-request.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import { podUidOf, processOfPod } from "../../linux/process/processes.ts";
import { loopbackSocket, networkOf } from "../../linux/socket/inside-network.ts";
import { type OtlpPoint, otlpPoints } from "../../metrics/otlp.ts";
import type { Logger } from "../../runtime/log.ts";
import { VolumeFigures } from "./volume-figures.ts";

/** The usual port of OTLP over HTTP. Nothing else listens in a Mountpoint Pod. */
const port = 4318;
/** How often mount-s3 exports, in seconds. */
const exportEverySeconds = 15;
/** An export takes about 20 KB. */
const bodyLimitBytes = 1024 * 1024;

/** The request for a mount-s3 that exports its figures to us, unless the volume's options say that it exports them elsewhere. */
export function withExport(request: MountRequest): MountRequest {
  if (request.args.some((arg) => arg.startsWith("--otlp-"))) return request;
  const args = [`--otlp-endpoint=http://127.0.0.1:${port}`, `--otlp-export-interval=${exportEverySeconds}`];
  return {
    ...request,
    args: [...request.args, ...args].toSorted(),
    // Cumulative: an export that is lost is made up for by the next one.
    env: { ...request.env, EXPERIMENTAL_MOUNTPOINT_OTLP_METRICS_TEMPORALITY_PREFERENCE: "cumulative" },
  };
}

/** mount-s3 exports its figures since 1.21. */
export function exportsFigures(mountpointVersion: string): boolean {
  const [major = 0, minor = 0] = mountpointVersion.replace(/^v/, "").split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 21);
}

export interface Exporter {
  readonly name: PodName;
  readonly uid: PodUid;
}

/** Opens a socket on the loopback address of a Pod; its descriptor belongs to the caller. */
export type OpenSocket = (pod: PodUid) => Promise<number>;

interface Receiver {
  readonly uid: PodUid;
  readonly server: Server;
  readonly figures: VolumeFigures;
}

export class FigureReceivers implements Disposable {
  readonly #open: OpenSocket;
  readonly #receivers = new Map<PodName, Receiver>();

  constructor(open: OpenSocket) {
    this.#open = open;
  }

  /** The figures of every volume from which something was or may be received. */
  get figures(): readonly (readonly [PodName, VolumeFigures])[] {
    return Array.from(this.#receivers, ([name, { figures }]) => [name, figures] as const);
  }

  isListening({ name, uid }: Exporter): boolean {
    return this.#receivers.get(name)?.uid === uid;
  }

  /** Resolves when exports of this Mountpoint Pod are received. Rejects if its network cannot be entered. */
  async listen(log: Logger, { name, uid }: Exporter): Promise<void> {
    if (this.isListening({ name, uid })) return;
    const fd = await this.#open(uid);
    const figures = new VolumeFigures();
    const receive = (points: readonly OtlpPoint[]) => figures.add(points);
    const server = createServer((request, response) => answer(request, response, receive));
    // mount-s3 needs one connection.
    server.maxConnections = 4;
    server.requestTimeout = 10_000;
    server.on("error", (error) => log.error("exports of mount-s3 cannot be received", { mountpointPod: name, error }));
    server.listen({ fd });
    await once(server, "listening");
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

/** Enters the network of a Pod by one of its processes. */
export function socketInPod(hostProc: string): OpenSocket {
  return async (uid) => {
    const pid = await processOfPod(hostProc, uid);
    if (pid === undefined) throw new DriverError("notReady", `no process of the Pod ${uid} is visible`);
    using network = networkOf(hostProc, pid);
    // The pid may have been given to another process between the two looks.
    if (podUidOf(hostProc, pid) !== uid) throw new DriverError("notReady", `the process of the Pod ${uid} has ended`);
    return (await loopbackSocket(network, port)).release();
  };
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  receive: (points: readonly OtlpPoint[]) => void,
): void {
  const refuse = (code: number) => void response.writeHead(code, { connection: "close" }).end();
  if (request.method !== "POST" || request.url !== "/v1/metrics") return refuse(404);
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bodyLimitBytes) chunks.push(chunk);
  });
  request.on("end", () => {
    if (bytes > bodyLimitBytes) refuse(413);
    else if (!isReceived(Buffer.concat(chunks), receive)) refuse(400);
    // An empty body is an empty ExportMetricsServiceResponse: everything was accepted.
    else response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  request.on("error", () => response.destroy());
}

function isReceived(body: Buffer, receive: (points: readonly OtlpPoint[]) => void): boolean {
  try {
    receive(otlpPoints(body));
    return true;
  } catch {
    return false; // not a message of OTLP
  }
}
