import { beforeEach, expect, it } from "vitest";
import type { NodeName } from "../../core/names.ts";
import { WarmHistory } from "./history.ts";

const [here, there] = ["worker-1", "worker-2"] as [NodeName, NodeName];
let history: WarmHistory;
beforeEach(() => {
  history = new WarmHistory("term");
});

const lost = (hasPlugin: boolean, nowMs: number) => history.withoutPluginMs(here, hasPlugin, nowMs);
const starting = (is: boolean, nowMs: number) => history.isStarting(here, is, nowMs);

it("WM-1 repeats a name until its Pod exists, and never after", () => {
  const first = history.nextName(here);
  expect(history.nextName(here)).toBe(first);
  expect(history.nextName(there)).not.toBe(first);
  history.created(here);
  expect(history.nextName(here)).not.toBe(first);
  history.forget(here);
  expect(history.nextName(here)).not.toBe(first);
});

it("WM-1 another leader never gives the name of a Mountpoint Pod that may have left a mount", () => {
  expect(new WarmHistory("next").nextName(here)).not.toBe(history.nextName(here));
});

it("waits longer after every failure, at most ten minutes, and begins anew after half an hour", () => {
  const pauses = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => {
    history.failed(here, at);
    return history.backOffMs(here, at) / 1000;
  });
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  expect(history.backOffMs(there, 0)).toBe(0);
  expect(history.backOffMs(here, 600_007)).toBe(0);
  history.failed(here, 1_900_000);
  expect(history.backOffMs(here, 1_900_000)).toBe(10_000);
});

it.for<[string, readonly boolean[], boolean, number]>([
  ["that somebody else deletes is a failure", [], false, 10_000],
  ["that gets a volume is none", [], true, 0],
  ["that the leader deletes is none", [false], false, 0],
  [
    "that the leader deletes because it failed is one, also when the deletion is repeated",
    [true, false, true],
    false,
    10_000,
  ],
  ["that gets a volume in spite of a deletion is none", [true], true, 0],
])("one %s", ([, deletions, hasVolume, expected]) => {
  const name = history.nextName(here);
  for (const isFailure of deletions) history.deleting(name, isFailure);
  expect(history.backOffMs(here, 0)).toBe(0);
  history.removed({ name, node: here }, hasVolume, 0);
  expect(history.backOffMs(here, 0)).toBe(expected);
});

it("tells how long a node has had no node plugin", () => {
  expect([lost(true, 0), lost(false, 10), lost(false, 500), lost(true, 600), lost(false, 700)]).toEqual([
    0, 1, 490, 0, 1,
  ]);
});

it("lets a workload that cannot start hold up others for a minute", () => {
  expect([starting(false, 0), starting(true, 10), starting(true, 60_000), starting(true, 60_010)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([starting(false, 60_020), starting(true, 60_030)]).toEqual([false, true]);
});
