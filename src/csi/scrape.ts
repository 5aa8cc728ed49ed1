/** Answers Prometheus at /metrics, on the port of the probes. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Access } from "../core/access.ts";
import type { Call } from "../runtime/call.ts";
import { isErrno } from "../runtime/errno.ts";
import { Secret } from "../runtime/secret.ts";

export interface Scraped {
  /** In the text format of Prometheus, in parts. */
  readonly text: () => AsyncIterable<string>;
  /** Whether the sender of a token may read the metrics. undefined: everyone may who can connect to the port. */
  readonly access?: ((call: Call, token: Secret, address: string) => Promise<Access>) | undefined;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export function answerScrape(call: Call, scraped: Scraped, exchange: Exchange): void {
  const { response } = exchange;
  const answered = answer(call, scraped, exchange);
  answered.catch((error: unknown) => {
    // Prometheus closes the connection when it gives up.
    const gaveUp = response.destroyed && isErrno(error, "ERR_STREAM_PREMATURE_CLOSE");
    if (!gaveUp) call.log.error("metrics cannot be served", { error });
    if (response.headersSent || response.destroyed) response.destroy();
    else refuse(response, 500, "the metrics could not be collected: the log of this container has the reason");
  });
}

async function answer(call: Call, scraped: Scraped, { request, response }: Exchange): Promise<void> {
  const access = await accessOf(call, scraped, request);
  if (access.is !== "allowed") {
    refuse(response, refusals[access.is], access.because);
    return;
  }
  // All parts before the first byte is sent: an answer that has begun cannot become an error any more.
  const parts: string[] = [];
  for await (const part of scraped.text()) parts.push(part);
  response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
  await pipeline(Readable.from(parts), response);
}

const refusals = { unauthenticated: 401, forbidden: 403, unknown: 503 } as const;

async function accessOf(call: Call, { access }: Scraped, { headers, socket }: IncomingMessage): Promise<Access> {
  if (access === undefined) return { is: "allowed" };
  const [, token] = /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? "") ?? [];
  if (token === undefined) return { is: "unauthenticated", because: "send a bearer token in the header Authorization" };
  return await access(call, new Secret(token), socket.remoteAddress ?? "");
}

function refuse(response: ServerResponse, code: 401 | 403 | 500 | 503, because: string): void {
  const challenge = code === 401 ? { "www-authenticate": "Bearer" } : {};
  response.writeHead(code, { "content-type": "text/plain; charset=utf-8", ...challenge }).end(`${because}\n`);
}
