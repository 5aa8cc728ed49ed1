import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WatchHealth } from "./watch-health.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("is ready while interruptions are short, however many", () => {
  const health = new WatchHealth();
  const report = health.of("watch over pods");
  for (let times = 0; times < 10; times += 1) {
    report(false);
    vi.advanceTimersByTime(59_000);
    report(false);
    expect(health.readiness()).toEqual({ ready: true });
    report(true);
  }
});

it("names the watch that has been interrupted for a minute, until it follows again", () => {
  const health = new WatchHealth();
  const [pods, claims] = [health.of("watch over pods"), health.of("watch over claims")];
  pods(true);
  claims(false);
  vi.advanceTimersByTime(61_000);
  expect(health.readiness()).toEqual({ ready: false, because: "watch over claims: interrupted for 61 s" });
  claims(true);
  expect(health.readiness()).toEqual({ ready: true });
});
