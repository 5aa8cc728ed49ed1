import { expect, it } from "vitest";
import { type Hang, judgeHang } from "./hang.ts";

const limitMs = 600_000;
const since: Hang = { sinceMs: 1000, cpuNs: 5000 };

it.for([
  { why: "it is the first time", before: undefined, nowMs: 601_000, cpuNs: 5000, giveUp: false },
  { why: "the limit is not over", before: since, nowMs: 600_999, cpuNs: 5000, giveUp: false },
  { why: "the limit is over and nothing was done", before: since, nowMs: 601_000, cpuNs: 5000, giveUp: true },
  { why: "it did something", before: since, nowMs: 601_000, cpuNs: 5001, giveUp: false },
  { why: "it is another process", before: since, nowMs: 601_000, cpuNs: 10, giveUp: false },
  { why: "nobody can see it", before: since, nowMs: 601_000, cpuNs: undefined, giveUp: false },
  { why: "nobody could see it", before: { sinceMs: 1000, cpuNs: undefined }, nowMs: 601_000, cpuNs: 5, giveUp: false },
])("$why → given up: $giveUp", ({ before, nowMs, cpuNs, giveUp }) => {
  expect(judgeHang(before, { nowMs, cpuNs, limitMs }).giveUp).toBe(giveUp);
});

it("counts anew from the moment at which it worked", () => {
  expect(judgeHang(since, { nowMs: 50_000, cpuNs: 9000, limitMs }).hang).toEqual({ sinceMs: 50_000, cpuNs: 9000 });
});

it("never gives up where that is not wanted", () => {
  expect(judgeHang(since, { nowMs: Number.MAX_SAFE_INTEGER, cpuNs: 5000, limitMs: 0 }).giveUp).toBe(false);
});
