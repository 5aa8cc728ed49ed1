import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { type Controller, runController } from "./run-controller.ts";
import { type Outcome, WorkQueue } from "./work-queue.ts";

let stop: AbortController;
let lines: string[];
let queue: WorkQueue<string>;
beforeEach(() => {
  vi.useFakeTimers();
  stop = new AbortController();
  lines = [];
  queue = new WorkQueue();
});
afterEach(() => {
  queue[Symbol.dispose]();
  vi.useRealTimers();
});

const logged = (message: string) => lines.filter((line) => line.includes(message));

function run(reconcile: Controller<string>["reconcile"], workers = 1): Promise<void> {
  const log = jsonLogger((line) => lines.push(line), 2);
  return runController({ signal: stop.signal, log }, { queue, workers, reconcile });
}

it("reconciles until the call ends", async () => {
  const seen: string[] = [];
  const running = run(async (_call, key) => {
    seen.push(key);
    return { kind: "done" };
  });
  queue.add("a");
  queue.add("b");
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  await running;
  expect(seen).toEqual(["a", "b"]);
});

it("retries what failed and logs the same failure once", async () => {
  let attempts = 0;
  const running = run(async () => {
    attempts += 1;
    throw new Error(attempts < 5 ? "first problem" : "second problem");
  });
  queue.add("a");
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await running;
  expect(attempts).toBe(8);
  expect(logged("first problem")).toHaveLength(1);
  expect(logged("second problem")).toHaveLength(1);
});

it("logs a failure anew after a success in between", async () => {
  const results: readonly (Outcome | Error)[] = [new Error("problem"), { kind: "done" }, new Error("problem")];
  let attempt = 0;
  const running = run(async () => {
    const result = results[attempt];
    attempt += 1;
    if (result instanceof Error) throw result;
    return result ?? { kind: "done" };
  });
  queue.add("a");
  await vi.advanceTimersByTimeAsync(10);
  queue.add("a");
  await vi.advanceTimersByTimeAsync(10);
  stop.abort();
  await running;
  expect(logged("problem")).toHaveLength(2);
});

it.for([
  { kind: "invalid", attempts: 1 },
  { kind: "unsupported", attempts: 1 },
  { kind: "busy", attempts: 8 },
  { kind: "notReady", attempts: 8 },
] as const)("tries $kind $attempts times in a second", async ({ kind, attempts }) => {
  let made = 0;
  const running = run(async () => {
    made += 1;
    throw new DriverError(kind, "refused");
  });
  queue.add("a");
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await running;
  expect(made).toBe(attempts);
  expect(logged("refused")).toHaveLength(1);
});

it("comes back when a reconcile asks for it", async () => {
  let made = 0;
  const running = run(async () => {
    made += 1;
    return { kind: "again", afterMs: 100, because: "not yet" };
  });
  queue.add("a");
  await vi.advanceTimersByTimeAsync(350);
  stop.abort();
  await running;
  expect(made).toBe(4);
});

it("works on as many keys at once as there are workers", async () => {
  let atOnce = 0;
  let most = 0;
  const running = run(async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await vi.advanceTimersByTimeAsync(1);
    atOnce -= 1;
    return { kind: "done" };
  }, 3);
  for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
  await vi.advanceTimersByTimeAsync(100);
  stop.abort();
  await running;
  expect(most).toBe(3);
});

it("ends only when work in hand is put down, and does not call that a failure", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<never>();
  const order: string[] = [];
  const running = run(() => released, 2).then(() => order.push("ended"));
  queue.add("a");
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  await vi.advanceTimersByTimeAsync(0);
  order.push("released");
  release(Promise.reject(new Error("aborted")));
  await running;
  expect(order).toEqual(["released", "ended"]);
  expect(lines).toEqual([]);
});

it("reports the result of every attempt", async () => {
  const results: string[] = [];
  const outcomes: readonly (Outcome | Error)[] = [
    { kind: "again", afterMs: 10, because: "not yet" },
    new Error("problem"),
    new DriverError("invalid", "nonsense"),
    { kind: "done" },
  ];
  let attempt = 0;
  const reconcile = async (): Promise<Outcome> => {
    const outcome = outcomes[attempt++] ?? { kind: "done" };
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  const log = jsonLogger(() => undefined, 2);
  const onAttempt = ({ result, seconds }: { result: string; seconds: number }) => {
    expect(seconds).toBeGreaterThanOrEqual(0);
    results.push(result);
  };
  const running = runController({ signal: stop.signal, log }, { queue, workers: 1, reconcile, onAttempt });
  queue.add("a");
  await vi.advanceTimersByTimeAsync(1000);
  queue.add("a");
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await running;
  expect(results).toEqual(["again", "failed", "refused", "done"]);
});

it("SC-5 keys that arrive together while all workers wait are begun in several turns of the event loop", async () => {
  vi.useRealTimers();
  let atMs = performance.now();
  using _clock = vi.spyOn(performance, "now").mockImplementation(() => atMs);
  const attempts = { begun: 0 };
  const running = run(async () => {
    attempts.begun += 1;
    atMs += 1;
    return { kind: "done" };
  }, 64);
  await nextTurn();
  atMs += 1000;
  for (let index = 0; index < 64; index += 1) queue.add(`key-${index}`);
  const turns: number[] = [];
  for (let before = 0; attempts.begun < 64; before = attempts.begun) {
    await nextTurn();
    turns.push(attempts.begun - before);
  }
  stop.abort();
  await running;
  expect(Math.max(...turns)).toBeLessThanOrEqual(5);
});
