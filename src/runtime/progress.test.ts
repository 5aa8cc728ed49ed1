import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Progress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("is alive while every loop moves, and names the one that does not", () => {
  const progress = new Progress(60_000);
  const beat = progress.pulse("watch over Pods");
  let stalledMs = 0;
  using _ = progress.follow("work", () => stalledMs);
  vi.advanceTimersByTime(50_000);
  beat();
  vi.advanceTimersByTime(50_000);
  expect(progress.liveness()).toEqual({ ready: true });
  stalledMs = 61_000;
  expect(progress.liveness()).toEqual({ ready: false, because: "work: nothing has moved for 61 s" });
  stalledMs = 0;
  vi.advanceTimersByTime(20_000);
  expect(progress.liveness()).toEqual({ ready: false, because: "watch over Pods: nothing has moved for 70 s" });
  beat();
  expect(progress.liveness()).toEqual({ ready: true });
});

it("does not look at a loop that has ended", () => {
  const progress = new Progress();
  progress.follow("work", () => Infinity)[Symbol.dispose]();
  {
    using beat = progress.pulse("watch of a leader");
    beat();
  }
  vi.advanceTimersByTime(3_600_000);
  expect(progress.liveness()).toEqual({ ready: true });
});
