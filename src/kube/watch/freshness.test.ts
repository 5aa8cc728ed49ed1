import { expect, it, vi } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import { ApiError } from "../client/api-error.ts";
import type { WatchEvent } from "../client/client.ts";
import { kinds, type Pod } from "../kinds.ts";
import { Freshness } from "./freshness.ts";
import { Store } from "./store.ts";
import { type Watcher, watch } from "./watch.ts";

type Event = WatchEvent<Pod>;

const metadata = (name: string, resourceVersion: string) => ({ name, uid: name, namespace: "ns", resourceVersion });
const added = (name: string): Event => ({ type: "ADDED", object: { metadata: metadata(name, "1"), spec: {} } as Pod });
const endOfList = {
  type: "BOOKMARK",
  object: { metadata: { ...metadata("", "5"), annotations: { "k8s.io/initial-events-end": "true" } }, spec: {} },
} as unknown as Event;

/** Each request is a stream that delivers what the test says, and stands still in between. */
class Server {
  readonly requests: { readonly parameters: Readonly<Record<string, string>>; say: (event: Event) => void }[] = [];

  get client(): Watcher {
    const stream = this.#stream.bind(this) as unknown as Watcher["watch"];
    return { watch: stream, pages: () => Promise.reject(new Error("not asked for")) as never };
  }

  async #stream(call: { signal: AbortSignal }, _: unknown, __: unknown, parameters: Readonly<Record<string, string>>) {
    const queue: Event[] = [];
    let wake = Promise.withResolvers<void>();
    call.signal.addEventListener("abort", () => wake.reject(call.signal.reason));
    const say = (event: Event) => {
      queue.push(event);
      wake.resolve();
    };
    this.requests.push({ parameters, say });
    return (async function* events() {
      for (;;) {
        yield* queue.splice(0);
        await wake.promise;
        wake = Promise.withResolvers();
      }
    })();
  }
}

it("SC-7 drops a stalled stream when a caller needs the state of now, and reports when the stores have it", async () => {
  const [server, freshness, stop] = [new Server(), new Freshness(), new AbortController()];
  const lines: string[] = [];
  const call = { signal: stop.signal, log: jsonLogger((line) => lines.push(line), 2) };
  const store = new Store<string>({});
  const what = { kind: kinds.pods, trim: (pod: Pod) => pod.metadata.name, freshness: freshness.join("pods") };
  const ended = watch(call, server.client, what, store);
  await expect.poll(() => server.requests.length).toBe(1);
  for (const event of [added("a"), endOfList]) server.requests[0]?.say(event);
  await store.synced(call);

  const order: string[] = [];
  const renewed = freshness.renew(call).then(() => order.push("renewed"));
  await expect.poll(() => server.requests.length).toBe(2);
  server.requests[1]?.say(added("b"));
  await store.waitFor(call, { key: "ns/b" }, ([pod]) => pod);
  order.push("shown");
  server.requests[1]?.say(endOfList);
  await renewed;

  expect(order).toEqual(["shown", "renewed"]);
  expect([...store.values()]).toEqual(["b"]);
  expect(server.requests.map(({ parameters }) => parameters["sendInitialEvents"])).toEqual(["true", "true"]);
  expect(lines.join("")).not.toContain("interrupted");
  stop.abort();
  await ended;
});

it("does not wait for more than the call does", async () => {
  const freshness = new Freshness();
  freshness.join("pods");
  const call = { signal: AbortSignal.abort(new Error("the term is over")), log: jsonLogger(() => undefined, 2) };
  await expect(freshness.renew(call)).rejects.toThrow("the term is over");
});

it("SC-7 renews one watch, and leaves the connection of another alone", async () => {
  const freshness = new Freshness();
  const [pods, claims] = [freshness.join("pods"), freshness.join("persistentvolumeclaims")];
  const [before, other] = [pods.signal(), claims.signal()];
  const call = { signal: new AbortController().signal, log: jsonLogger(() => undefined, 2) };
  const order: string[] = [];
  const renewed = freshness.renew(call, (name) => name === "pods").then(() => order.push("renewed"));
  expect([before.aborted, pods.signal().aborted, other.aborted]).toEqual([true, false, false]);
  claims.begun();
  claims.completed();
  await new Promise(setImmediate);
  order.push("another has listed");
  pods.begun();
  pods.completed();
  await renewed;
  expect(order).toEqual(["another has listed", "renewed"]);
});

it("SC-7 a watch is silent while it is open and receives nothing", () => {
  vi.useFakeTimers();
  try {
    const freshness = new Freshness();
    const pods = freshness.join("pods");
    expect(freshness.isSilentSince("pods", performance.now())).toBe(false);
    pods.received();
    vi.advanceTimersByTime(10);
    const sinceMs = performance.now();
    expect(freshness.isSilentSince("pods", sinceMs)).toBe(true);
    expect(freshness.isSilentSince("claims", sinceMs)).toBe(false);
    pods.received();
    expect(freshness.isSilentSince("pods", sinceMs)).toBe(false);
    vi.advanceTimersByTime(10);
    pods.lost();
    expect(freshness.isSilentSince("pods", performance.now())).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

it("SC-7 an open watch counts as silent, and one that waits for the end of its back-off does not", async () => {
  const [server, freshness, stop] = [new Server(), new Freshness(), new AbortController()];
  const call = { signal: stop.signal, log: jsonLogger(() => undefined, 2) };
  const refused = { asked: 0 };
  const refusing = {
    ...server.client,
    watch: () => {
      refused.asked += 1;
      return Promise.reject(new ApiError(429, "TooManyRequests", "later", 60_000));
    },
  } as unknown as Watcher;
  const what = (name: string) => ({ kind: kinds.pods, trim: () => name, freshness: freshness.join(name) });
  const watching = [
    watch(call, server.client, what("open"), new Store<string>({})),
    watch(call, refusing, what("refused"), new Store<string>({})),
  ];
  await expect.poll(() => [server.requests.length, refused.asked]).toEqual([1, 1]);
  await expect.poll(() => freshness.isSilentSince("open", performance.now())).toBe(true);
  await expect.poll(() => freshness.isSilentSince("refused", performance.now())).toBe(false);
  stop.abort();
  await Promise.all(watching);
});
