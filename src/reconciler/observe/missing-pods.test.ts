import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { MissingPods } from "./missing-pods.ts";

const [a, b] = ["worker-1/a", "worker-1/b"] as [VolumeOnNodeKey, VolumeOnNodeKey];

let stop: AbortController;
let lines: string[];
let lists: PromiseWithResolvers<void>[];
let queued: VolumeOnNodeKey[];
let missing: Set<VolumeOnNodeKey>;
let pods: MissingPods;
let searching: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  [stop, lines, lists, queued, missing] = [new AbortController(), [], [], [], new Set([a, b])];
  pods = new MissingPods();
  const renew = () => {
    const list = Promise.withResolvers<void>();
    lists.push(list);
    return list.promise;
  };
  const log = jsonLogger((line) => lines.push(line), 2);
  searching = pods.search(
    { signal: stop.signal, log },
    {
      freshness: { renew },
      isMissing: (key) => missing.has(key),
      queue: { add: (key) => void queued.push(key) },
    },
  );
});
afterEach(async () => {
  stop.abort();
  for (const { reject } of lists) reject(stop.signal.reason);
  await searching;
  vi.useRealTimers();
});

const afterSeconds = (seconds: number) => vi.advanceTimersByTimeAsync(1000 * seconds);

it("SC-7 lists all Pods once for all that are missing, and decides again only after the list", async () => {
  pods.add(a);
  pods.add(b);
  await afterSeconds(60);
  expect([lists.length, queued]).toEqual([1, []]);
  lists[0]?.resolve();
  await afterSeconds(0);
  expect(queued).toEqual([a, b]);
});

it("makes no list for Pods that appear within the grace period", async () => {
  pods.add(a);
  await afterSeconds(1);
  missing.clear();
  await afterSeconds(60);
  expect(lists).toEqual([]);
  // A list that came by itself may have proven that they are gone, which is no change of a Pod.
  expect(queued).toEqual([a]);
});

it("makes at most two lists in a minute, however often a Pod is missing", async () => {
  for (let second = 0; second < 120; second++) {
    pods.add(a);
    await afterSeconds(1);
    lists.at(-1)?.resolve();
  }
  expect(lists).toHaveLength(4);
});

it("concludes nothing from a list that fails, and tries again", async () => {
  pods.add(a);
  await afterSeconds(3);
  lists[0]?.reject(new Error("the server is away"));
  await afterSeconds(0);
  expect(lines.filter((line) => line.includes("failed to list everything anew"))).toHaveLength(1);
  expect(queued).toEqual([a]);
  pods.add(a);
  await afterSeconds(60);
  expect(lists).toHaveLength(2);
});
