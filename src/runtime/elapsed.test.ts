import { expect, it, vi } from "vitest";
import { elapsed, ended } from "./elapsed.ts";

it("waits for the time, and no longer than the call", async () => {
  vi.useFakeTimers();
  try {
    const end = new AbortController();
    const seen: string[] = [];
    const waits = [elapsed(end, 10).then(() => seen.push("time")), elapsed(end, 1000).then(() => seen.push("end"))];
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual(["time"]);
    end.abort();
    await Promise.all(waits);
    expect(seen).toEqual(["time", "end"]);
    expect(vi.getTimerCount()).toBe(0);
    await elapsed(end, 1000);
  } finally {
    vi.useRealTimers();
  }
});

it("knows when a call ends, also one that has ended already", async () => {
  const end = new AbortController();
  const over = ended(end);
  end.abort();
  await over;
  await ended(end);
  expect(end.signal.aborted).toBe(true);
});
