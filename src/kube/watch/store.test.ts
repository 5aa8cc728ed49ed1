import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { type Change, keyOf, Store } from "./store.ts";

interface Thing {
  readonly node: string;
  readonly phase: string;
}

const thing = (node: string, phase = "Pending"): Thing => ({ node, phase });

let store: Store<Thing, "byNode">;
let stop: AbortController;
let call: { signal: AbortSignal; log: typeof silentLogger };
beforeEach(() => {
  store = new Store<Thing, "byNode">({ byNode: ({ node }) => (node === "" ? [] : [node]) });
  stop = new AbortController();
  call = { signal: stop.signal, log: silentLogger };
});

/** A complete list of exactly these. */
function list(things: Readonly<Record<string, readonly [version: string, thing: Thing]>>): void {
  store.begin();
  for (const [key, [version, value]] of Object.entries(things)) store.put(key, version, value);
  store.complete();
}

function changes(): Change<Thing>[] {
  const seen: Change<Thing>[] = [];
  store.subscribe((change) => seen.push(change));
  return seen;
}

it("names objects with and without a namespace", () => {
  expect(keyOf({ namespace: "ns", name: "a" })).toBe("ns/a");
  expect(keyOf({ name: "a" })).toBe("a");
});

it("answers by key, by index and as a whole", () => {
  list({ a: ["1", thing("n1")], b: ["2", thing("n2")], c: ["3", thing("n1", "Running")] });
  expect(store.get("c")).toEqual(thing("n1", "Running"));
  expect(store.get("d")).toBeUndefined();
  expect(store.by("byNode", "n1")).toEqual([thing("n1"), thing("n1", "Running")]);
  expect(store.by("byNode", "n3")).toEqual([]);
  expect([...store.values()]).toHaveLength(3);
});

it("moves an object in its index", () => {
  store.put("a", "1", thing(""));
  store.put("a", "2", thing("n1"));
  store.put("a", "3", thing("n2"));
  expect(store.by("byNode", "n1")).toEqual([]);
  expect(store.by("byNode", "n2")).toEqual([thing("n2")]);
  store.remove("a");
  expect(store.by("byNode", "n2")).toEqual([]);
});

it("gives listeners the object before and after the change", () => {
  const seen = changes();
  store.put("a", "1", thing("n1"));
  store.put("a", "2", thing("n2"));
  store.remove("a");
  store.remove("a");
  expect(seen).toEqual([
    { key: "a", before: undefined, after: thing("n1") },
    { key: "a", before: thing("n1"), after: thing("n2") },
    { key: "a", before: thing("n2"), after: undefined },
  ]);
});

it("stops telling a listener that left", () => {
  const seen: unknown[] = [];
  const subscription = store.subscribe((change) => seen.push(change));
  subscription[Symbol.dispose]();
  store.put("a", "1", thing("n1"));
  expect(seen).toEqual([]);
});

it("reports after a new list only what is different, and what has vanished as removed", () => {
  list({ same: ["1", thing("n1")], changed: ["2", thing("n1")], vanished: ["3", thing("n1")] });
  const seen = changes();
  list({ same: ["1", thing("n1")], changed: ["4", thing("n2")], fresh: ["5", thing("n3")] });
  expect(seen.map(({ key, after }) => [key, after?.node])).toEqual([
    ["changed", "n2"],
    ["fresh", "n3"],
    ["vanished", undefined],
  ]);
});

it("removes nothing for a list that broke off", () => {
  list({ a: ["1", thing("n1")], b: ["2", thing("n1")] });
  store.begin();
  store.put("a", "1", thing("n1"));
  expect(store.get("b")).toBeDefined();
  list({ b: ["2", thing("n1")] });
  expect([store.get("a"), store.get("b")]).toEqual([undefined, thing("n1")]);
});

it("removes what a list lacks although another object went while it was read, and a list before it broke off", () => {
  list({ a: ["1", thing("n1")], b: ["1", thing("n1")], c: ["1", thing("n1")] });
  store.begin();
  store.put("a", "1", thing("n1"));
  store.begin();
  store.put("a", "1", thing("n1"));
  store.put("a", "2", thing("n2"));
  store.remove("b");
  store.put("d", "1", thing("n1"));
  store.complete();
  expect([store.get("a"), store.get("b"), store.get("c")]).toEqual([thing("n2"), undefined, undefined]);
  expect(store.size).toBe(2);
});

it("SC-5 completes a list that has every object again without a walk over them", () => {
  list({ a: ["1", thing("n1")], b: ["1", thing("n1")] });
  store.begin();
  store.put("a", "1", thing("n1"));
  store.put("b", "2", thing("n2"));
  const walks = vi.spyOn(Map.prototype, Symbol.iterator);
  try {
    store.complete();
    expect(walks).not.toHaveBeenCalled();
  } finally {
    walks.mockRestore();
  }
});

it("is synced once the first list is complete", async () => {
  const order: string[] = [];
  const waiting = store.synced(call).then(() => order.push("synced"));
  store.begin();
  store.put("a", "1", thing("n1"));
  await setImmediate();
  order.push("complete");
  store.complete();
  await waiting;
  expect(order).toEqual(["complete", "synced"]);
  await expect(store.synced(call)).resolves.toBeUndefined();
});

it("does not take an object for absent before it is synced", async () => {
  const asked: number[] = [];
  const waiting = store.waitFor(call, { key: "a" }, (found) => {
    asked.push(found.length);
    return found[0];
  });
  store.begin();
  await setImmediate();
  store.put("a", "1", thing("n1"));
  store.complete();
  await waiting;
  expect(asked).toEqual([1]);
});

it("waits for an object to become what is wanted", async () => {
  list({});
  const running = store.waitFor(call, { key: "a" }, ([a]) => (a?.phase === "Running" ? a : undefined));
  store.put("a", "1", thing("n1"));
  store.put("a", "2", thing("n1", "Running"));
  expect(await running).toEqual(thing("n1", "Running"));
});

it("waits for an object under a value of an index, and for its leaving", async () => {
  list({});
  const arrived = store.waitFor(call, { index: "byNode", value: "n1" }, ([a]) => a);
  store.put("a", "1", thing("n1", "Running"));
  expect(await arrived).toEqual(thing("n1", "Running"));

  const left = store.waitFor(call, { index: "byNode", value: "n1" }, (all) => all.length === 0 || undefined);
  store.put("a", "2", thing("n2"));
  expect(await left).toBe(true);
});

it("waits for an object to be gone", async () => {
  list({ a: ["1", thing("n1")] });
  const gone = store.waitFor(call, { key: "a" }, (all) => all.length === 0 || undefined);
  list({});
  expect(await gone).toBe(true);
});

it("runs no check for changes elsewhere", async () => {
  list({});
  let asked = 0;
  const waiting = store.waitFor(call, { key: "a" }, ([a]) => {
    asked += 1;
    return a;
  });
  for (let i = 0; i < 100; i += 1) store.put(`other-${i}`, "1", thing("n1"));
  store.put("a", "1", thing("n1"));
  await waiting;
  expect(asked).toBe(2);
});

it("ends a wait for the reason that the check throws", async () => {
  list({});
  const waiting = store.waitFor(call, { key: "a" }, ([a]) => {
    if (a?.phase === "Failed") throw new Error("will never run");
    return undefined;
  });
  store.put("a", "1", thing("n1", "Failed"));
  await expect(waiting).rejects.toThrow("will never run");
});

it("ends a wait with the call and leaves nothing behind", async () => {
  list({});
  let asked = 0;
  const waiting = store.waitFor(call, { key: "a" }, () => {
    asked += 1;
    return undefined;
  });
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
  stop.abort(new Error("gave up"));
  await expect(waiting).rejects.toThrow("gave up");
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  store.put("a", "1", thing("n1"));
  expect(asked).toBe(1);
});

it("does not begin a wait for a call that is over", async () => {
  stop.abort(new Error("over"));
  await expect(store.waitFor(call, { key: "a" }, ([a]) => a)).rejects.toThrow("over");
});
