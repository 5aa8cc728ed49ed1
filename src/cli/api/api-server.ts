/** Requests to the API server with the rights of the user's kubeconfig. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { RequestRefusedError, UnreachableError } from "./request-errors.ts";

export interface ApiRequest {
  readonly method?: "GET" | "POST" | "DELETE" | "PATCH";
  /** Below the server's address, with its query. */
  readonly path: string;
  readonly body?: object;
}

/** A large list comes in pages, so that the API server never builds one large answer. */
const pageSize = 500;

/** The API server gives up after 60 s. */
const answerLimitMs = 70_000;

export class ApiServer {
  readonly #config: KubeConfig;
  readonly #server: URL;
  readonly context: string;

  constructor(config: KubeConfig, server: string) {
    this.#config = config;
    this.#server = new URL(server);
    this.context = config.getCurrentContext();
  }

  /** Rejects with a RequestRefusedError if the server refuses, with an UnreachableError if there is no answer. */
  async json<Shape>(signal: AbortSignal, request: ApiRequest): Promise<Shape> {
    return JSON.parse(await this.text(signal, request)) as Shape;
  }

  async text(signal: AbortSignal, request: ApiRequest): Promise<string> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(answerLimitMs)]);
    return await textOf(await this.#accepted(limited, request));
  }

  /** All objects of a collection; `keep` sees one page after the other, so that what is not needed is dropped early. */
  async list<Shape>(
    signal: AbortSignal,
    path: string,
    {
      query = {},
      keep = () => true,
    }: { query?: Readonly<Record<string, string>>; keep?: (each: Shape) => boolean } = {},
  ): Promise<Shape[]> {
    const objects: Shape[] = [];
    let next: string | undefined;
    do {
      const parameters = new URLSearchParams({ ...query, limit: String(pageSize), ...(next && { continue: next }) });
      const list = await this.json<ListAnswer<Shape>>(signal, { path: `${path}?${parameters.toString()}` });
      objects.push(...list.items.filter(keep));
      next = list.metadata.continue || undefined;
    } while (next !== undefined);
    return objects;
  }

  /** The clock of the API server, in whole seconds; undefined: it does not say. */
  async date(signal: AbortSignal): Promise<Date | undefined> {
    const { headers } = await this.#accepted(signal, { path: "/version" });
    return headers.date === undefined ? undefined : new Date(headers.date);
  }

  /** Resolves when the server has accepted the request. The stream ends when the server ends it or the signal aborts. */
  async lines(signal: AbortSignal, path: string): Promise<AsyncGenerator<string>> {
    return linesOf(await this.#accepted(signal, { path }));
  }

  async #accepted(signal: AbortSignal, request: ApiRequest): Promise<IncomingMessage> {
    const answer = await this.#send(signal, request);
    const code = answer.statusCode ?? 0;
    if (code >= 200 && code < 300) return answer;
    throw new RequestRefusedError(code, request, await textOf(answer));
  }

  async #send(signal: AbortSignal, { method = "GET", path, body }: ApiRequest): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const options: RequestOptions = {
      method,
      signal,
      headers: {
        accept: "application/json",
        ...(payload && { "content-type": contentType(method), "content-length": payload.length }),
      },
    };
    // Runs login programs, reads certificates, and picks the proxy of the cluster. Plain HTTP is `kubectl proxy`, which logs in itself.
    if (this.#server.protocol === "https:") await this.#config.applyToHTTPSOptions(options);
    const url = new URL(`${this.#server.pathname.replace(/\/$/, "")}${path}`, this.#server);
    const send = this.#server.protocol === "http:" ? httpRequest : httpsRequest;
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = send(url, options, resolve);
      sent.on("error", (cause) =>
        reject(signal.aborted ? (signal.reason as Error) : new UnreachableError(this.#server, cause)),
      );
      sent.end(payload);
    });
  }
}

interface ListAnswer<Shape> {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly Shape[];
}

function contentType(method: string): string {
  return method === "PATCH" ? "application/merge-patch+json" : "application/json";
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const part of answer) {
    const lines = (rest + decoder.decode(part as Buffer, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
