/**
 * Answers kubelet's probes over HTTP, in place of the liveness-probe sidecar of 2.x. `/healthz` reports whether the program can do
 * its work now, and `/livez` whether its loops run: a restart helps a loop that hangs, and does not bring back an API server.
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Call } from "../runtime/call.ts";
import type { Readiness } from "./identity.ts";
import { answerScrape, type Scraped } from "./scrape.ts";

export interface Health {
  readonly readiness: Readiness;
  readonly liveness: Readiness;
  /** undefined: not served. */
  readonly metrics?: Scraped | undefined;
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

function answerFrom(call: Call, { readiness, liveness, metrics }: Health): RequestListener {
  return (request, response) => {
    if (request.url === "/metrics" && metrics !== undefined) {
      answerScrape(call, metrics, { request, response });
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
