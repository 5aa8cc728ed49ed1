/** Serves the page and its feed on the loopback address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Feed } from "../../page/feed.ts";
import type { PageFiles } from "../../page/page-files.ts";
import { feedPath, pathOf, respondFile, respondText, streamFeed } from "../../page/page-responses.ts";
import { aliveMs } from "../../page/page-state.ts";
import { UserError } from "../user-error.ts";
import { type Admitted, refusalOf } from "./admission.ts";

export interface PageParts {
  readonly files: PageFiles;
  readonly feed: Feed;
  readonly token: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface PageServer {
  /** With the token in its fragment, which a browser sends to no server. */
  readonly address: string;
  /** Resolves when all connections are closed. */
  readonly close: () => Promise<void>;
}

export async function startPageServer({ files, feed, token, port }: PageParts): Promise<PageServer> {
  const server = createServer();
  const bound = await listening(server, port);
  const admitted: Admitted = { port: bound, token };
  server.on("request", (request, response) => answer(request, response, { admitted, files, feed }));
  const timer = setInterval(() => feed.keepAlive(), aliveMs);
  return {
    address: `http://127.0.0.1:${bound}/#token=${token}`,
    close: async () => {
      clearInterval(timer);
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

interface Answering {
  readonly admitted: Admitted;
  readonly files: PageFiles;
  readonly feed: Feed;
}

function answer(request: IncomingMessage, response: ServerResponse, { admitted, files, feed }: Answering): void {
  const { method, url: path, headers: sent } = request;
  const { host, origin, authorization } = sent;
  const refusal = refusalOf({ method, path, host, origin, authorization }, admitted);
  if (refusal !== undefined) {
    respondText(response, refusal.code, refusal.message);
    return;
  }
  if (pathOf(path) === feedPath) streamFeed(response, feed);
  else respondFile(response, files, pathOf(path));
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => reject(portError(cause, port)));
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

function portError(cause: NodeJS.ErrnoException, port: number): Error {
  if (cause.code !== "EADDRINUSE") return cause;
  return new UserError(`--port ${port} is in use`, "choose another port, or none: the plugin then takes a free one");
}
