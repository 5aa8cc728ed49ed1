import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import { KubeClient } from "../client/client.ts";
import { kinds, type Pod } from "../kinds.ts";
import { Store } from "./store.ts";
import { type Watched, watch } from "./watch.ts";

interface Kept {
  readonly name: string;
  readonly node: string | undefined;
}

/** One request of the watch: what it asked for, and how it is answered. */
type Turn = (asked: URLSearchParams, response: ServerResponse) => void;

let turns: Turn[];
let asked: Record<string, string>[];
let lines: string[];
let stop: AbortController;
let server: Server;
let client: KubeClient;
let store: Store<Kept>;
let seen: string[];
let ended: Promise<void> | undefined;

beforeEach(async () => {
  [turns, asked, lines, seen] = [[], [], [], []];
  stop = new AbortController();
  server = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://x").searchParams;
    asked.push(Object.fromEntries(query));
    turns.shift()?.(query, response); // beyond the last turn the server says nothing
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client = new KubeClient({ server: url, tls: () => ({}), token: () => undefined }, { userAgent: "test" });
  store = new Store<Kept>({});
  store.subscribe(({ key, before, after }) => seen.push(`${key}: ${before?.node ?? "-"} → ${after?.node ?? "-"}`));
});
afterEach(async () => {
  vi.useRealTimers();
  stop.abort();
  await ended;
  client[Symbol.dispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const trim = ({ metadata, spec }: Pod): Kept => ({ name: metadata.name, node: spec.nodeName });

const call = () => ({ signal: stop.signal, log: jsonLogger((line) => lines.push(line), 2) });

function follow(...script: Turn[]): void {
  followOnly({}, ...script);
}

function followOnly(what: Partial<Watched<Pod, Kept>>, ...script: Turn[]): void {
  turns = script;
  ended = watch(call(), client, { kind: kinds.pods, trim, ...what }, store);
}

/** Until the store holds an object of this name on this node. */
const arrived = (name: string, node: string) =>
  store.waitFor(call(), { key: `ns/${name}` }, ([pod]) => (pod?.node === node ? pod : undefined));

const pod = (name: string, version: string, nodeName: string) => ({
  metadata: { name, namespace: "ns", resourceVersion: version },
  spec: { nodeName },
});

const event = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const added = (name: string, version: string, node: string) => event("ADDED", pod(name, version, node));
const modified = (name: string, version: string, node: string) => event("MODIFIED", pod(name, version, node));
const bookmark = (version: string) => event("BOOKMARK", { metadata: { resourceVersion: version } });
const endOfList = (version: string) =>
  event("BOOKMARK", { metadata: { resourceVersion: version, annotations: { "k8s.io/initial-events-end": "true" } } });
const error = (code: number, message: string) => ({ kind: "Status", code, message });

/** A stream that stays open. */
const stream =
  (...chunks: readonly (string | Buffer)[]): Turn =>
  (_, response) => {
    response.writeHead(200).flushHeaders();
    for (const chunk of chunks) response.write(chunk);
  };
const streamThenEnd =
  (...chunks: readonly string[]): Turn =>
  (_, response) =>
    void response.end(chunks.join(""));
const streamThenCut =
  (...chunks: readonly string[]): Turn =>
  (_, response) =>
    void response.write(chunks.join(""), () => response.socket?.resetAndDestroy());
const page = (next: string, ...items: object[]): Turn =>
  streamThenEnd(JSON.stringify({ metadata: { resourceVersion: "5", continue: next }, items }));
const refuse =
  (code: number, message: string): Turn =>
  (_, response) =>
    void response.writeHead(code).end(JSON.stringify(error(code, message)));

it("lists in one stream, consistently, and keeps watching on it", async () => {
  follow(stream(added("a", "1", "n1"), endOfList("5"), modified("a", "6", "n2")));
  await arrived("a", "n2");
  expect(seen).toEqual(["ns/a: - → n1", "ns/a: n1 → n2"]);
  expect(asked).toEqual([
    {
      watch: "true",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
      timeoutSeconds: expect.stringMatching(/^[3-5]\d\d$/),
    },
  ]);
});

it("is synced at the end of the list, not at its first object", async () => {
  let respond: ServerResponse | undefined;
  follow((_, response) => {
    respond = response;
    response.write(added("a", "1", "n1"));
  });
  await expect.poll(() => store.get("ns/a")).toBeDefined();
  const order: string[] = [];
  const synced = store.synced(call()).then(() => order.push("synced"));
  order.push("ends");
  respond?.write(endOfList("5"));
  await synced;
  expect(order).toEqual(["ends", "synced"]);
});

it("reports whether it follows the server or has lost it; a list that expired is not lost", async () => {
  const reported: boolean[] = [];
  const follows = (now: boolean) => void (reported.at(-1) !== now && reported.push(now));
  followOnly(
    { follows },
    streamThenCut(added("a", "1", "n1"), endOfList("5")),
    refuse(503, "not now"),
    stream(event("ERROR", error(410, "too old"))),
    stream(added("a", "7", "n2"), endOfList("8")),
  );
  await arrived("a", "n2");
  expect(reported).toEqual([true, false, true]);
});

it("does not follow a server that refuses every list, also where lists come in pages", async () => {
  const reported: boolean[] = [];
  const follows = (now: boolean) => void reported.push(now);
  const noStream = refuse(422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
  followOnly(
    { follows },
    noStream,
    refuse(503, "not now"),
    refuse(503, "not now"),
    page("", pod("a", "1", "n1")),
    stream(modified("a", "6", "n2")),
  );
  await arrived("a", "n2");
  expect(reported.indexOf(true)).toBeGreaterThan(reported.lastIndexOf(false));
  expect(lines.filter((line) => line.includes("watch recovered"))).toHaveLength(1);
});

it("falls back to pages where the server has no streaming list", async () => {
  follow(
    refuse(422, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"),
    page("token", pod("a", "1", "n1")),
    page("", pod("b", "2", "n1")),
    stream(modified("b", "6", "n2")),
  );
  await arrived("b", "n2");
  expect(asked.map(({ limit, continue: next, resourceVersion }) => [limit, next, resourceVersion])).toEqual([
    [undefined, undefined, undefined],
    ["500", undefined, undefined],
    ["500", "token", undefined],
    [undefined, undefined, "5"],
  ]);
  expect(lines).toEqual([]);
});

it("selects on its own what the server cannot select", async () => {
  followOnly(
    { fieldSelector: "spec.nodeName=n1", labelSelector: "app=x", keep: ({ spec }) => spec.nodeName === "n1" },
    refuse(400, "field label not supported: spec.nodeName"),
    stream(added("a", "1", "n1"), added("b", "2", "n2"), endOfList("5")),
  );
  await store.synced(call());
  expect([...store.values()]).toEqual([{ name: "a", node: "n1" }]);
  expect(asked.map(({ fieldSelector, labelSelector }) => [fieldSelector, labelSelector])).toEqual([
    ["spec.nodeName=n1", "app=x"],
    [undefined, "app=x"],
  ]);
});

it("drops an object that is not wanted any more", async () => {
  followOnly(
    { keep: ({ spec }) => spec.nodeName === "n1" },
    stream(added("a", "1", "n1"), endOfList("5"), modified("a", "6", "n2"), added("b", "7", "n1")),
  );
  await arrived("b", "n1");
  expect(store.get("ns/a")).toBeUndefined();
});

it("removes what is deleted", async () => {
  follow(stream(added("a", "1", "n1"), endOfList("5"), event("DELETED", pod("a", "6", "n1")), added("b", "7", "n1")));
  await arrived("b", "n1");
  expect(seen).toEqual(["ns/a: - → n1", "ns/a: n1 → -", "ns/b: - → n1"]);
});

it.for([
  { how: "ends", interrupt: streamThenEnd },
  { how: "is cut within a line", interrupt: (...chunks: string[]) => streamThenCut(...chunks, '{"type":"MODI') },
])("continues after the last version when a watch $how", async ({ interrupt }) => {
  follow(
    interrupt(added("a", "1", "n1"), endOfList("5"), modified("a", "6", "n2")),
    interrupt(modified("a", "7", "n3"), bookmark("9")),
    stream(modified("a", "10", "n4")),
  );
  await arrived("a", "n4");
  expect(seen).toEqual(["ns/a: - → n1", "ns/a: n1 → n2", "ns/a: n2 → n3", "ns/a: n3 → n4"]);
  expect(asked.map(({ resourceVersion }) => resourceVersion)).toEqual([undefined, "6", "9"]);
});

it("starts a list again that was cut, and removes nothing because of it", async () => {
  follow(
    streamThenEnd(added("a", "1", "n1"), added("b", "2", "n1"), endOfList("5"), event("ERROR", error(410, "too old"))),
    streamThenCut(added("a", "1", "n1")),
    stream(added("a", "1", "n1"), added("b", "9", "n2"), endOfList("9")),
  );
  await arrived("b", "n2");
  expect(seen).toEqual(["ns/a: - → n1", "ns/b: - → n1", "ns/b: n1 → n2"]);
});

it("takes a list that ended early for no list at all", async () => {
  follow(streamThenEnd(added("gone", "1", "n1")), stream(added("b", "2", "n1"), endOfList("5")));
  await store.synced(call());
  expect([...store.values()]).toEqual([{ name: "b", node: "n1" }]);
});

it.for([
  { where: "in the stream", expire: streamThenEnd(event("ERROR", error(410, "too old resource version"))) },
  { where: "at the door", expire: refuse(410, "too old resource version") },
])("lists anew when its version has expired $where, and finds out what has vanished", async ({ expire }) => {
  follow(
    streamThenEnd(added("same", "1", "n1"), added("gone", "2", "n1"), endOfList("5")),
    expire,
    stream(added("same", "1", "n1"), added("new", "8", "n1"), endOfList("9")),
  );
  await arrived("new", "n1");
  await expect.poll(() => seen.length).toBe(4);
  expect(seen).toEqual(["ns/same: - → n1", "ns/gone: - → n1", "ns/new: - → n1", "ns/gone: n1 → -"]);
});

it("has patience with a slow server, and lists anew when one falls silent, which may have lost our version", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  let respond: ServerResponse | undefined;
  follow(
    (_, response) => {
      respond = response;
      response.write(added("a", "1", "n1") + endOfList("5"));
    },
    stream(added("a", "3", "restored"), endOfList("3")),
  );
  for (const [version, node] of Object.entries({ 6: "n2", 7: "n3", 8: "n4" })) {
    await store.synced(call());
    vi.advanceTimersByTime(140_000);
    respond?.write(modified("a", version, node));
    await arrived("a", node);
  }
  expect(asked).toHaveLength(1);

  vi.advanceTimersByTime(150_000);
  await arrived("a", "restored");
  expect(asked[1]).toMatchObject({ sendInitialEvents: "true" });
  expect(lines.join()).toContain("nothing was received");
});

it.for([403, 429, 503])("overcomes %i and logs it once", async (code) => {
  follow(
    streamThenEnd(added("a", "1", "n1"), endOfList("5")),
    refuse(code, "not now"),
    refuse(code, "not now"),
    stream(modified("a", "6", "n2")),
  );
  await arrived("a", "n2");
  expect(lines.map((line) => JSON.parse(line).message)).toEqual(["watch interrupted", "watch recovered"]);
});

it("says which kind it cannot list", async () => {
  follow(refuse(403, "forbidden"), refuse(404, "no such kind"), stream(endOfList("5")));
  await store.synced(call());
  expect(lines.map((line) => JSON.parse(line).message)).toEqual([
    "Failed to list Pods",
    "Failed to list Pods",
    "watch recovered",
  ]);
});

it("leaves out an object that it cannot understand, and goes on", async () => {
  const odd = { metadata: { name: "odd", namespace: "ns", resourceVersion: "1" } }; // no spec
  follow(stream(event("ADDED", odd), event("ADDED", odd), added("b", "2", "n1"), endOfList("5")));
  await arrived("b", "n1");
  expect([...store.values()]).toHaveLength(1);
  expect(lines).toHaveLength(1);
});

it("reads characters that arrive in halves", async () => {
  const bytes = Buffer.from(added("a", "1", "grüße-😀"));
  const middle = bytes.indexOf(Buffer.from("😀")) + 2;
  follow(stream(bytes.subarray(0, middle), bytes.subarray(middle), endOfList("5")));
  await store.synced(call());
  expect(store.get("ns/a")?.node).toBe("grüße-😀");
});

it("watches one namespace, or one object", async () => {
  const urls: (string | undefined)[] = [];
  server.on("request", ({ url }) => urls.push(url));
  followOnly({ namespace: "ns", fieldSelector: "metadata.name=a" }, stream(endOfList("5")));
  await store.synced(call());
  expect(urls[0]).toMatch(/^\/api\/v1\/namespaces\/ns\/pods\?/);
  expect(asked[0]).toMatchObject({ fieldSelector: "metadata.name=a" });
});

it.for([
  { where: "on a stream", turn: stream(endOfList("5")) },
  { where: "before an answer", turn: () => undefined },
  { where: "in a pause", turn: refuse(500, "not now") },
])("ends with its call, $where", async ({ turn }) => {
  follow(turn);
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  stop.abort(new Error("stopping"));
  await expect(ended).resolves.toBeUndefined();
  expect(lines.join()).not.toContain("stopping");
});
