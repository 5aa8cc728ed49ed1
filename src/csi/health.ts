/**
 * Answers kubelet's probes over HTTP, in place of the liveness-probe sidecar of 2.x. `/healthz` reports whether the program can do
 * its work now, and `/livez` whether its loops run: a restart helps a loop that hangs, and does not bring back an API server.
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Call } from "../runtime/call.ts";
import { isErrno } from "../runtime/errno.ts";
import type { Readiness } from "./identity.ts";

export interface Health {
  readonly readiness: Readiness;
  readonly liveness: Readiness;
  /** In the text format of Prometheus. undefined: not served, because everyone in the cluster network can read this port. */
  readonly metrics?: (() => AsyncIterable<string>) | undefined;
}

/** Resolves when the port is open, and serves until it is disposed of. Rejects if the port is in use. */
export async function serveHealth(call: Call, port: number, health: Health): Promise<AsyncDisposable> {
  const server = createServer(answerFrom(call, health));
  server.listen(port);
  await once(server, "listening");
  call.log.info("serving health", { port: (server.address() as AddressInfo).port });
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections(); // kubelet keeps connections of probes open
      await closed;
    },
  };
}

function answerFrom({ log }: Call, { readiness, liveness, metrics }: Health): RequestListener {
  return (request, response) => {
    if (request.url === "/metrics" && metrics !== undefined) {
      response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
      const sent = pipeline(Readable.from(metrics()), response);
      // Prometheus that gives up closes the connection, and takes an answer that is cut off for a failed scrape.
      sent.catch((error: unknown) => {
        if (!response.destroyed || !isErrno(error, "ERR_STREAM_PREMATURE_CLOSE")) {
          log.error("metrics cannot be served", { error });
        }
        response.destroy();
      });
      return;
    }
    const state = request.url === "/livez" ? liveness() : request.url === "/healthz" ? readiness() : undefined;
    if (state === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(state.ready ? 200 : 503, { "content-type": "text/plain" });
    response.end(state.ready ? "ok" : state.because); // kubelet puts the text into the event of a failed probe
  };
}
