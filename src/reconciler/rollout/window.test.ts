import { describe, expect, it } from "vitest";
import { untilOpenMs, windowFrom } from "./window.ts";

const minutes = (window: object, now: string) => {
  const parsed = windowFrom(window);
  if (parsed === undefined) throw new Error("not a window");
  return untilOpenMs(parsed, new Date(now)) / 60_000;
};

const night = { start: "22:00", end: "04:00" };
const weekend = { ...night, days: ["Sat"] };
// 2026-01-15 is a Thursday.
it.for<[string, object, string, number]>([
  ["at its first minute", night, "2026-01-15T22:00:00Z", 0],
  ["after midnight", night, "2026-01-15T03:59:59Z", 0],
  ["not at its end", night, "2026-01-15T04:00:00Z", 18 * 60],
  ["not before its start", night, "2026-01-15T21:59:00Z", 1],
  ["within a day", { start: "01:00", end: "05:30" }, "2026-01-15T05:29:00Z", 0],
  ["not after that day's end", { start: "01:00", end: "05:30" }, "2026-01-15T05:30:00Z", 19.5 * 60],
  ["all day if start and end are equal", { start: "00:00", end: "00:00" }, "2026-01-15T12:00:00Z", 0],
  ["on its day", weekend, "2026-01-17T23:00:00Z", 0],
  ["on the morning after its day", weekend, "2026-01-18T03:00:00Z", 0],
  ["not on the morning of its day", weekend, "2026-01-17T03:00:00Z", 19 * 60],
  ["not on another day", weekend, "2026-01-15T22:00:00Z", 2 * 24 * 60],
  ["a week later, just after its end", weekend, "2026-01-18T04:00:00Z", (6 * 24 + 18) * 60],
])("LC-21 a window is open %s", ([, window, now, until]) => {
  expect(minutes(window, now)).toBe(until);
});

describe("is no window", () => {
  it.for([
    [{ start: "22:00" }],
    [{ start: "24:00", end: "04:00" }],
    [{ start: "9:00", end: "10:00" }],
    [{ ...night, days: ["Saturday"] }],
    [{ ...night, days: [] }],
    [{ ...night, days: "Sat" }],
    ["22:00-04:00"],
    [null],
  ])("%j", ([value]) => {
    expect(windowFrom(value)).toBe(undefined);
  });
});
