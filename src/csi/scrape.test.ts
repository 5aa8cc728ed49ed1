import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import type { Access } from "../core/access.ts";
import { jsonLogger } from "../runtime/log.ts";
import { answerScrape, type Scraped } from "./scrape.ts";

let server: Server | undefined;
let lines: string[] = [];

afterEach(() => {
  server?.close();
  lines = [];
});

async function scrape(scraped: Scraped, headers: Readonly<Record<string, string>> = {}) {
  const call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(line), 9) };
  server = createServer((request, response) => answerScrape(call, scraped, { request, response })).listen(0);
  await once(server, "listening");
  return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`, { headers });
}

const text = async function* () {
  yield "a 1\n";
  yield "b 2\n";
};

const broken = async function* () {
  yield "a 1\n";
  throw new Error("no such file");
};

it("OP-3 answers with all parts, in the text format of Prometheus", async () => {
  const answer = await scrape({ text });
  expect([answer.status, await answer.text()]).toEqual([200, "a 1\nb 2\n"]);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
});

it("OP-3 a metric that cannot be collected is an answer 500 without metrics, and its reason is in the log", async () => {
  const answer = await scrape({ text: broken });
  expect(answer.status).toBe(500);
  expect(await answer.text()).toBe("the metrics could not be collected: the log of this container has the reason\n");
  expect(lines.join("")).toContain("no such file");
});

it.for<[Access, number, string]>([
  [{ is: "allowed" }, 200, "a 1\nb 2\n"],
  [{ is: "unauthenticated", because: "who is this" }, 401, "who is this\n"],
  [{ is: "forbidden", because: "not you" }, 403, "not you\n"],
  [{ is: "unknown", because: "nobody to ask" }, 503, "nobody to ask\n"],
])("SE-7 %j → %d", async ([access, code, body]) => {
  const asked: string[] = [];
  const answer = await scrape(
    {
      text,
      access: async (_, token, address) => {
        asked.push(`${token.reveal()} of ${address}`);
        return access;
      },
    },
    { authorization: "bearer abc.def" },
  );
  expect([answer.status, await answer.text()]).toEqual([code, body]);
  expect(asked).toEqual([expect.stringMatching(/^abc\.def of .*127\.0\.0\.1$/)]);
  expect(lines.join("")).not.toContain("abc.def");
});

it.for([{}, { authorization: "Basic abc" }, { authorization: "Bearer" }, { authorization: "Bearer a b" }])(
  "SE-7 without a bearer token nobody is asked: %j",
  async (headers) => {
    const answer = await scrape({ text, access: () => expect.unreachable("there is no token") }, headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(await answer.text()).not.toContain("a 1");
  },
);
