/** SC-5: a queue of very many keys. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { runController } from "./run-controller.ts";
import { WorkQueue } from "./work-queue.ts";

const count = 10_000;
const workers = 64;
const done = { kind: "done" } as const;

function filled(): WorkQueue<string> {
  const queue = new WorkQueue<string>();
  for (let at = 0; at < count; at += 1) queue.add(`key-${at}`);
  return queue;
}

it("SC-5 takes a key without a walk over the others", async () => {
  const call = { signal: new AbortController().signal, log: silentLogger };
  using queue = filled();
  const walked: number[] = [];
  for (const method of ["values", "keys", "entries"] as const) {
    const real = Set.prototype[method];
    vi.spyOn(Set.prototype, method).mockImplementation(function (this: Set<unknown>) {
      walked.push(this.size);
      return real.call(this) as never;
    });
  }
  try {
    for (let at = 0; at < count; at += 1) queue.settle(await queue.take(call), done);
  } finally {
    vi.restoreAllMocks();
  }
  expect(Math.max(0, ...walked)).toBeLessThanOrEqual(1);
});

it("SC-5 workers whose keys need no request give way to timers and sockets", async () => {
  const stop = new AbortController();
  using queue = filled();
  // Every look at the clock takes a millisecond, so that a turn has few keys.
  let at = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    at += 1;
    return at;
  });
  let reconciled = 0;
  const reconcile = async () => {
    reconciled += 1;
    return done;
  };
  const running = runController({ signal: stop.signal, log: silentLogger }, { queue, workers, reconcile });
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(reconciled).toBeGreaterThan(0);
  // Each worker begins with a key; then they share the time of each turn.
  expect(reconciled).toBeLessThan(workers + 100);
  stop.abort();
  await running;
  clock.mockRestore();
});

it("SC-5 a change goes before everything that a sweep has queued", async () => {
  const call = { signal: new AbortController().signal, log: silentLogger };
  using queue = new WorkQueue<string>();
  for (let at = 0; at < count; at += 1) queue.addInBackground(`swept-${at}`);
  queue.add("changed");
  expect(await queue.take(call)).toBe("changed");
});
