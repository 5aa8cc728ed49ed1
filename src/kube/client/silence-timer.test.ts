import os from "node:os";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SilenceTimer } from "./silence-timer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const onSilence = vi.fn<() => void>();
beforeEach(() => void onSilence.mockClear());

it("calls back once, after the limit and not before", () => {
  const timer = new SilenceTimer(150_000, onSilence);
  vi.advanceTimersByTime(140_000);
  timer.heard();
  vi.advanceTimersByTime(149_999);
  expect(onSilence).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5001);
  expect(onSilence).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(600_000);
  expect(onSilence).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

it("is quiet after it was stopped", () => {
  const timer = new SilenceTimer(100, onSilence);
  timer.stop();
  vi.advanceTimersByTime(1000);
  expect(onSilence).not.toHaveBeenCalled();
});

it("SC-8 notices within 5 seconds that the machine slept for longer than the limit", () => {
  const timer = new SilenceTimer(150_000, onSilence);
  vi.advanceTimersByTime(1000);
  timer.heard();
  const uptime = os.uptime();
  vi.spyOn(os, "uptime").mockImplementation(() => uptime + 200);
  vi.advanceTimersByTime(5000);
  expect(onSilence).toHaveBeenCalledOnce();
});

it("does not look at the uptime for each of many chunks", () => {
  using uptime = vi.spyOn(os, "uptime");
  const timer = new SilenceTimer(150_000, onSilence);
  for (let chunk = 0; chunk < 1000; chunk += 1) timer.heard();
  timer.stop();
  expect(uptime.mock.calls.length).toBeLessThan(500);
});
