import { expect, it } from "vitest";
import { Stopwatch } from "./stopwatch.ts";

it("gives time, bytes and percentiles of the operations", async () => {
  let now = 0;
  const watch = new Stopwatch("read", () => now);
  for (const ms of [3, 1, 2, 94]) {
    await watch.time(async () => {
      now += ms;
      return 10;
    });
    now += 1000; // between two operations: does not count
  }
  expect(watch.measurement).toEqual({
    name: "read",
    operations: 4,
    bytes: 40,
    seconds: 0.1,
    latencyMs: { p50: 2, p95: 94, max: 94 },
  });
});

it("gives nothing if nothing was timed", () => {
  expect(new Stopwatch("list").measurement).toBeUndefined();
});
