import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { nextDelayMs, type Outcome, WorkQueue } from "./work-queue.ts";

const done: Outcome = { kind: "done" };
const failed = new Error("failed");
const again = (afterMs: number): Outcome => ({ kind: "again", afterMs, because: "not yet" });

let queue: WorkQueue<string>;
let stop: AbortController;
/** What a single, eager worker has taken so far. */
let taken: string[];
beforeEach(() => {
  vi.useFakeTimers();
  queue = new WorkQueue();
  stop = new AbortController();
  taken = [];
});
afterEach(() => {
  queue[Symbol.dispose]();
  stop.abort();
  vi.useRealTimers();
});

const call = () => ({ signal: stop.signal, log: silentLogger });

/** Takes and settles everything that is ready, with this result, for this long. */
async function work(result: Outcome | Error, forMs = 0): Promise<void> {
  const over = new AbortController();
  const loop = (async () => {
    for (;;) {
      const key = await queue.take({ ...call(), signal: over.signal });
      taken.push(key);
      queue.settle(key, result);
    }
  })();
  await vi.advanceTimersByTimeAsync(forMs);
  over.abort(new Error("enough"));
  await expect(loop).rejects.toThrow("enough");
}

it.for([
  { result: failed, failures: 0, delay: 5 },
  { result: failed, failures: 3, delay: 40 },
  { result: failed, failures: 12, delay: 20_480 },
  { result: failed, failures: 14, delay: 30_000 },
  { result: failed, failures: 5000, delay: 30_000 },
  { result: again(700), failures: 9, delay: 700 },
  { result: done, failures: 9, delay: undefined },
])("$result after $failures failures → $delay ms", ({ result, failures, delay }) => {
  expect(nextDelayMs(result, failures)).toBe(delay);
});

it("hands out keys in the order of arrival, each once", async () => {
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  await work(done);
  expect(taken).toEqual(["a", "b", "c"]);
});

it("wakes a worker that waits", async () => {
  const next = queue.take(call());
  queue.add("a");
  expect(await next).toBe("a");
});

it("gives two waiting workers two different keys", async () => {
  const both = Promise.all([queue.take(call()), queue.take(call())]);
  for (const key of ["a", "a", "b"]) queue.add(key);
  expect(await both).toEqual(["a", "b"]);
});

it("never gives a key to two workers, and looks again at what changed meanwhile", async () => {
  queue.add("a");
  const key = await queue.take(call());
  queue.add("a");
  queue.add("a");
  const second = queue.take(call());
  queue.add("b");
  expect(await second).toBe("b");
  queue.settle(key, done);
  await work(done);
  expect(taken).toEqual(["a"]);
});

it("repeats a failing key at growing distances", async () => {
  queue.add("a");
  await work(failed, 34); // 0, 5, 15
  expect(taken).toHaveLength(3);
  await work(failed, 1); // 35
  expect(taken).toHaveLength(4);
});

it("forgets failures after a success", async () => {
  queue.add("a");
  await work(failed, 500);
  await work(done, 60_000);
  taken = [];
  queue.add("a");
  await work(failed, 5);
  expect(taken).toEqual(["a", "a"]);
});

it("does not grow a deliberate wait", async () => {
  queue.add("a");
  await work(again(1000), 10_000);
  expect(taken).toHaveLength(11);
});

it("does not hold up other keys for one that fails", async () => {
  queue.add("a");
  await work(failed, 5000);
  taken = [];
  queue.add("b");
  await work(done);
  expect(taken).toEqual(["b"]);
});

it("lets a change shorten a long back-off", async () => {
  queue.add("a");
  await work(failed, 41_000); // the next attempt is 40 s away
  taken = [];
  await vi.advanceTimersByTimeAsync(1000);
  queue.add("a");
  await work(done);
  expect(taken).toEqual(["a"]);
});

it("does not let a failing key that causes changes chase itself", async () => {
  let attempts = 0;
  queue.add("a");
  void (async () => {
    for (;;) {
      const key = await queue.take(call());
      attempts += 1;
      queue.add(key); // its own write
      queue.settle(key, failed);
    }
  })().catch(() => undefined);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(attempts).toBeLessThan(75);
});

it("keeps the earlier of two appointments", async () => {
  queue.add("a");
  const key = await queue.take(call());
  queue.settle(key, again(5000));
  queue.add("a");
  await work(again(100_000), 10_000);
  expect(taken).toEqual(["a"]);
});

it("makes one look of what has time, and puts it off no further", async () => {
  queue.addLater("a", 1000);
  await work(done, 900);
  queue.addLater("a", 1000);
  expect(taken).toEqual([]);
  await work(done, 5000);
  expect(taken).toEqual(["a"]);
});

it("does not put off a key that is ready or being processed", async () => {
  queue.add("a");
  queue.addLater("a", 1000);
  const key = await queue.take(call());
  queue.addLater("a", 1000);
  queue.settle(key, done);
  await work(done);
  expect(taken).toEqual(["a"]);
});

it("takes keys without a known change when no others are ready, and at least one in eight", async () => {
  for (const key of ["x", "y", "z"]) queue.addInBackground(key);
  for (let at = 1; at <= 9; at += 1) queue.add(`k${at}`);
  await work(done);
  expect(taken).toEqual(["k1", "k2", "k3", "k4", "k5", "k6", "k7", "x", "k8", "k9", "y", "z"]);
});

it("processes a key once that a change follows into the background", async () => {
  queue.addInBackground("a");
  queue.addInBackground("b");
  queue.add("b");
  queue.addInBackground("b");
  await work(done);
  expect(taken).toEqual(["b", "a"]);
});

it("does not process a failing key earlier because of a look at everything", async () => {
  queue.add("a");
  await work(failed, 41_000); // the next attempt is 40 s away
  taken = [];
  queue.addInBackground("a");
  await work(done);
  expect(taken).toEqual([]);
});

it("wakes a worker for a key of the background, and forgets its delay", async () => {
  queue.addLater("a", 1000);
  const next = queue.take(call());
  queue.addInBackground("a");
  expect(await next).toBe("a");
  queue.settle("a", done);
  await work(done, 5000);
  expect(taken).toEqual([]);
});

it("ends the wait of a worker with its call, and gives the next key to another", async () => {
  const next = queue.take(call());
  stop.abort(new Error("stopping"));
  await expect(next).rejects.toThrow("stopping");
  queue.add("a");
  stop = new AbortController();
  expect(await queue.take(call())).toBe("a");
});

it("leaves no timer behind", async () => {
  queue.add("a");
  await work(failed, 1000);
  queue[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
});

it("is stalled while a key is ready and no worker takes it", async () => {
  queue.add("a");
  vi.advanceTimersByTime(5000);
  queue.add("b");
  expect(queue.stalledMs).toBe(5000);
  queue.settle(await queue.take(call()), done);
  vi.advanceTimersByTime(1000);
  expect(queue.stalledMs).toBe(1000); // b waits for 1 s since something moved
  queue.settle(await queue.take(call()), done);
  vi.advanceTimersByTime(1000);
  expect(queue.stalledMs).toBe(0);
});

it("is stalled while one worker processes the same key, whatever else moves", async () => {
  queue.add("stuck");
  await queue.take(call());
  vi.advanceTimersByTime(5000);
  queue.add("b");
  queue.settle(await queue.take(call()), done);
  expect(queue.stalledMs).toBe(5000);
  queue.settle("stuck", failed);
  expect(queue.stalledMs).toBe(0); // an appointment after a failure is no standstill
});

it("waits as long as a timer can for a time in the far future, instead of not at all", async () => {
  queue.add("a");
  await work(again(2 ** 31), 60_000);
  expect(taken).toEqual(["a"]);
  await work(done, 2 ** 31 - 1);
  expect(taken).toEqual(["a", "a"]);
});

it("counts keys that wait, and for how long the first of them has, and keys that fail", async () => {
  expect(queue.figures).toEqual({ depth: 0, oldestMs: 0, failing: 0 });
  queue.addInBackground("a");
  vi.advanceTimersByTime(200);
  queue.add("b");
  vi.advanceTimersByTime(100);
  expect(queue.figures).toEqual({ depth: 2, oldestMs: 300, failing: 0 });
  queue.add("a");
  expect(queue.figures).toEqual({ depth: 2, oldestMs: 100, failing: 0 });
  await work(failed);
  expect(queue.figures).toEqual({ depth: 0, oldestMs: 0, failing: 2 });
  await work(done, 5000);
  expect(queue.figures).toEqual({ depth: 0, oldestMs: 0, failing: 0 });
});

it("processes what changes before a worker chooses its key together with the first change", async () => {
  queue.add("a");
  const pause = async () => queue.add("a");
  queue.settle(await queue.take(call(), pause), done);
  expect(queue.figures.depth).toBe(0);
});

it("SC-6 a key that writes again and again waits, and then writes once in a second; another does not wait", async () => {
  const wrote: Outcome = { kind: "done", wrote: true };
  queue.add("a");
  const over = new AbortController();
  const loop = (async () => {
    for (;;) {
      const key = await queue.take({ ...call(), signal: over.signal });
      taken.push(key);
      queue.settle(key, key === "a" ? wrote : done);
      // Its own write, or that of another client, is a change.
      if (key === "a") queue.add(key);
    }
  })();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(taken.length).toBeGreaterThan(60);
  expect(taken.length).toBeLessThan(75);
  const before = taken.length;
  queue.add("b");
  await vi.advanceTimersByTimeAsync(1);
  expect(taken.slice(before)).toEqual(["b"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(taken.filter((key) => key === "a").length - before).toBeLessThan(62);
  over.abort(new Error("enough"));
  await expect(loop).rejects.toThrow("enough");
});

it("keys that write now and then do not wait", async () => {
  for (let second = 0; second < 300; second += 1) {
    queue.add("a");
    await work({ kind: "done", wrote: true }, 1000);
  }
  expect(taken).toHaveLength(300);
});
