import { expect, it } from "vitest";
import { type Hang, judgeHang } from "./hang.ts";

const limitMs = 600_000;
const since: Hang = { sinceMs: 1000, cpuNs: 5000 };

it.for([
  { why: "this is the first silent probe", before: undefined, nowMs: 601_000, cpuNs: 5000, giveUp: false },
  { why: "the limit has not passed", before: since, nowMs: 600_999, cpuNs: 5000, giveUp: false },
  { why: "the limit has passed without any CPU time", before: since, nowMs: 601_000, cpuNs: 5000, giveUp: true },
  { why: "mount-s3 used CPU time", before: since, nowMs: 601_000, cpuNs: 5001, giveUp: false },
  { why: "mount-s3 is another process", before: since, nowMs: 601_000, cpuNs: 10, giveUp: false },
  { why: "the process is not visible", before: since, nowMs: 601_000, cpuNs: undefined, giveUp: false },
  {
    why: "the process was not visible before",
    before: { sinceMs: 1000, cpuNs: undefined },
    nowMs: 601_000,
    cpuNs: 5,
    giveUp: false,
  },
])("$why → given up: $giveUp", ({ before, nowMs, cpuNs, giveUp }) => {
  expect(judgeHang(before, { nowMs, cpuNs, limitMs }).giveUp).toBe(giveUp);
});

it("restarts the limit when mount-s3 uses CPU time", () => {
  expect(judgeHang(since, { nowMs: 50_000, cpuNs: 9000, limitMs }).hang).toEqual({ sinceMs: 50_000, cpuNs: 9000 });
});

it("never gives up with a limit of 0", () => {
  expect(judgeHang(since, { nowMs: Number.MAX_SAFE_INTEGER, cpuNs: 5000, limitMs: 0 }).giveUp).toBe(false);
});
