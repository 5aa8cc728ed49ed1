/** A proxy before the lab's S3 server on which everything can happen: refusals, silence, altered answers, and connections cut before or after the work. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type Fault =
  | { readonly do: "answer"; readonly status: number; readonly code: string; readonly message?: string }
  /** Something on the path answers in the store's place. */
  | { readonly do: "answer"; readonly status: number; readonly text: string }
  /** Says nothing, until the client gives up. */
  | { readonly do: "hang" }
  /** The server never hears of it. */
  | { readonly do: "cut" }
  /** The server has done it, the client never learns. */
  | { readonly do: "cutAfterwards"; readonly done?: () => void }
  /** The server gets the request when the work is done. */
  | { readonly do: "passAfter"; readonly work: () => Promise<unknown> }
  /** The client gets another text than the server sent. */
  | { readonly do: "passAltered"; readonly alter: (text: string) => string };

/** Such as "PUT /bucket" or "DELETE /bucket?tagging", without parameters' values. */
export type Line = string;

interface Rule {
  readonly on: RegExp;
  readonly fault: Fault;
  times: number;
  /** How many more go through before. */
  after: number;
}

export class FaultyS3 implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: URL;
  #rules: Rule[] = [];
  #lines: Line[] = [];
  readonly #bodies = new Map<Line, string[]>();

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));
  }

  static async before(target: string): Promise<FaultyS3> {
    const proxy = new FaultyS3(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What was asked since the last call of `restore`. */
  get lines(): readonly Line[] {
    return this.#lines;
  }

  /** What came with the last request of this line that the server got. */
  bodyOf(line: Line): string | undefined {
    return this.bodiesOf(line).at(-1);
  }

  /** What came with the requests of this line that the server got, oldest first. */
  bodiesOf(line: Line): readonly string[] {
    return this.#bodies.get(line) ?? [];
  }

  /** From now on, for requests whose line matches. */
  break(on: RegExp, fault: Fault, times = Infinity, after = 0): void {
    this.#rules.push({ on, fault, times, after });
  }

  restore(): void {
    this.#rules = [];
    this.#lines = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const line = lineOf(incoming);
    this.#lines.push(line);
    const fault = this.#faultFor(line);
    switch (fault?.do) {
      case "answer":
        outgoing.writeHead(fault.status, { "content-type": "application/xml" }).end(textOf(fault));
        return;
      case "hang":
        return;
      case "cut":
        incoming.socket.destroy();
        return;
      case "cutAfterwards":
        await this.#forward(incoming);
        fault.done?.();
        incoming.socket.destroy();
        return;
      case "passAfter":
        await fault.work();
        return await this.#pass(incoming, outgoing);
      case "passAltered":
        return await this.#pass(incoming, outgoing, fault.alter);
      case undefined:
        return await this.#pass(incoming, outgoing);
      default:
        fault satisfies never;
    }
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse, alter?: (text: string) => string): Promise<void> {
    const { status, headers, body } = await this.#forward(incoming);
    if (alter === undefined) {
      outgoing.writeHead(status, headers).end(body);
      return;
    }
    const altered = Buffer.from(alter(body.toString()));
    outgoing.writeHead(status, { ...headers, "content-length": altered.length }).end(altered);
  }

  #faultFor(line: Line): Fault | undefined {
    const rule = this.#rules.find(({ on, times }) => times > 0 && on.test(line));
    if (rule === undefined) return undefined;
    if (rule.after > 0) {
      rule.after -= 1;
      return undefined;
    }
    rule.times -= 1;
    return rule.fault;
  }

  /** As it came, host included: that is signed. */
  async #forward(incoming: IncomingMessage) {
    const { hostname, port } = this.#target;
    const { method, url, headers } = incoming;
    const outgoing = request({ hostname, port, method, path: url, headers, agent: false });
    const sent = await buffer(incoming);
    const line = lineOf(incoming);
    this.#bodies.set(line, [...this.bodiesOf(line), sent.toString()]);
    outgoing.end(sent);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    return { status: answer.statusCode ?? 500, headers: answer.headers, body: await buffer(answer) };
  }
}

function textOf(fault: Extract<Fault, { do: "answer" }>): string {
  if ("text" in fault) return fault.text;
  return `<Error><Code>${fault.code}</Code><Message>${fault.message ?? "injected"}</Message></Error>`;
}

function lineOf({ method, url = "/" }: IncomingMessage): Line {
  const { pathname, searchParams } = new URL(url, "http://s3");
  const names = [...searchParams.keys()].filter((name) => name !== "x-id").join("&");
  return `${method} ${pathname}${names === "" ? "" : `?${names}`}`;
}
