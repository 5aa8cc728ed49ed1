import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import { kinds } from "../kinds.ts";
import { KubeClient } from "./client.ts";
import { pageLimitBytes } from "./page-size.ts";

let server: Server;
let client: KubeClient;
/** Of objects in the cluster, in bytes. */
let sizes: number[];
let lines: string[];
let asked: { limit: number; from: number }[];
let queries: string[];

/** Serves pages as the API server does: `continue` is the number of the next object. */
beforeEach(async () => {
  [sizes, lines, asked, queries] = [[], [], [], []];
  server = createServer(({ url = "" }, response) => {
    const query = new URL(url, "http://x").searchParams;
    queries.push(query.toString());
    const [limit, from] = [Number(query.get("limit") ?? sizes.length), Number(query.get("continue") ?? 0)];
    asked.push({ limit, from });
    const items = sizes.slice(from, from + limit).map((bytes, index) => ({
      metadata: { name: `pod-${from + index}`, namespace: "ns", annotations: { padding: "x".repeat(bytes) } },
    }));
    const next = from + limit < sizes.length ? String(from + limit) : "";
    response.end(JSON.stringify({ metadata: { resourceVersion: "1", continue: next }, items }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client = new KubeClient({ server: url, tls: () => ({}), token: () => undefined }, { userAgent: "test" });
});
afterEach(async () => {
  client[Symbol.dispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const call = { signal: new AbortController().signal, log: jsonLogger((line) => lines.push(line), 2) };
const names = (pods: readonly { readonly metadata: { readonly name: string } }[]) =>
  pods.map(({ metadata }) => metadata.name);
const all = () => sizes.map((_, index) => `pod-${index}`);

it("SC-8 a list of huge objects arrives whole, in order, in pages that fit; the log says what made them small", async () => {
  sizes = Array.from({ length: 120 }, () => 256 * 1024);
  expect(names(await client.list(call, kinds.pods))).toEqual(all());
  const messages = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(messages).toMatchObject([
    { message: "a page of a list is too large, asking for a smaller one", kind: "Pod", objects: 500 },
    { message: "a page of a list is too large, asking for a smaller one", kind: "Pod", objects: 62 },
    { message: "pages of a list are small", objects: 7, largest: "ns/pod-0", largestBytes: expect.any(Number) },
  ]);
  expect(Math.max(...asked.slice(2).map(({ limit }) => limit)) * 256 * 1024).toBeLessThanOrEqual(pageLimitBytes);
});

it("SC-8 the next list begins with pages of the learned size", async () => {
  sizes = Array.from({ length: 40 }, () => 256 * 1024);
  await client.list(call, kinds.pods);
  const before = asked.length;
  await client.list(call, kinds.pods);
  expect(asked[before]?.limit).toBeLessThanOrEqual(16);
  expect(lines).toHaveLength(3);
});

it("SC-8 one huge object among small ones: the pages after it grow again", async () => {
  sizes = Array.from({ length: 2000 }, (_, index) => (index === 0 ? 2 * pageLimitBytes : 100));
  expect(names(await client.list(call, kinds.pods))).toEqual(all());
  expect(asked.at(-1)?.limit).toBe(500);
  expect(asked[3]?.limit).toBe(1);
});

it("lists of small objects have pages of 500", async () => {
  sizes = Array.from({ length: 1001 }, () => 1000);
  await client.list(call, kinds.pods);
  expect(asked.map(({ limit }) => limit)).toEqual([500, 500, 500]);
  expect(lines).toEqual([]);
});

it("SC-8 a list from the cache of the API server is one request, and changes nothing for other lists", async () => {
  sizes = Array.from({ length: 600 }, () => 16 * 1024);
  expect(names(await client.listCached(call, kinds.pods, { fieldSelector: "spec.nodeName=n1" }))).toEqual(all());
  expect(queries).toEqual(["fieldSelector=spec.nodeName%3Dn1&resourceVersion=0"]);
  sizes = [1];
  await client.list(call, kinds.pods);
  expect(asked.at(-1)).toEqual({ limit: 500, from: 0 });
});
