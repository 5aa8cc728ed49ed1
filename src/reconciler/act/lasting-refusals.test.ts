import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LastingRefusals } from "./lasting-refusals.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

it.for([
  { others: 9_999, isRemembered: true },
  { others: 10_000, isRemembered: false },
])("remembers a refusal after $others others: $isRemembered", ({ others, isRemembered }) => {
  const refusals = new LastingRefusals();
  refusals.isReportDue("first");
  for (let other = 0; other < others; other += 1) refusals.isReportDue(`other ${other}`);
  vi.advanceTimersByTime(60_000);
  expect(refusals.isReportDue(`other ${others - 1}`)).toBe(true);
  expect(refusals.isReportDue("first")).toBe(isRemembered);
});
