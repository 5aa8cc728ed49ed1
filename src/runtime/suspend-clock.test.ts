import os from "node:os";
import { afterEach, expect, it, vi } from "vitest";
import { nowWithSuspendMs } from "./suspend-clock.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("equals performance.now() on a machine that was never suspended", () => {
  vi.useFakeTimers();
  expect(nowWithSuspendMs()).toBe(performance.now());
  vi.advanceTimersByTime(1234);
  expect(nowWithSuspendMs()).toBe(performance.now());
});

it("SC-8 counts the time that the machine was suspended, which performance.now() does not", () => {
  vi.useFakeTimers();
  const uptime = os.uptime();
  vi.spyOn(os, "uptime").mockImplementation(() => uptime + 3600);
  expect(nowWithSuspendMs() - performance.now()).toBeGreaterThan(3_500_000);
  expect(nowWithSuspendMs() - performance.now()).toBeLessThan(3_700_000);
});
