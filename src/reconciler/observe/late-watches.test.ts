import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import { LateWatches } from "./late-watches.ts";

let stop: AbortController;
let lines: string[];
let lists: string[][];
let silent: Set<string>;
let watches: LateWatches;
let renewing: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  [stop, lines, lists, silent] = [new AbortController(), [], [], new Set(["pods", "attachments"])];
  watches = new LateWatches();
  const renew = (_: unknown, isMeant: (name: string) => boolean = () => true) => {
    lists.push(["pods", "attachments", "claims"].filter(isMeant));
    return Promise.resolve();
  };
  const log = jsonLogger((line) => lines.push(line), 2);
  renewing = watches.renew(
    { signal: stop.signal, log },
    { renew, isSilentSince: (name, atMs) => silent.has(name) && atMs > 0 },
  );
});
afterEach(async () => {
  stop.abort();
  await renewing;
  vi.useRealTimers();
});

const afterSeconds = (seconds: number) => vi.advanceTimersByTimeAsync(1000 * seconds);

it("SC-7 lists anew what a silent watch has not shown, and nothing else", async () => {
  watches.add("attachments", 5);
  await afterSeconds(0);
  expect(lists).toEqual([["attachments"]]);
  expect(lines.filter((line) => line.includes("listing anew"))).toHaveLength(1);
});

it("leaves a watch alone that delivers", async () => {
  silent.clear();
  watches.add("pods", 5);
  await afterSeconds(60);
  expect(lists).toEqual([]);
});

it("makes at most two lists in a minute, however many changes are missing", async () => {
  for (let second = 0; second < 119; second++) {
    watches.add("pods", 5);
    watches.add("attachments", 5);
    await afterSeconds(1);
  }
  expect(lists).toHaveLength(4);
});
