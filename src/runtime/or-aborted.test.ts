import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { silentLogger } from "./log.ts";
import { orAborted } from "./or-aborted.ts";

function callWith(signal: AbortSignal) {
  return { signal, log: silentLogger };
}

/** Rejections without a handler at the end of the test. */
function unhandled(): unknown[] {
  const seen: unknown[] = [];
  const note = (reason: unknown) => void seen.push(reason);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
  onTestFinished(() => {
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other);
  });
  return seen;
}

it("gives what the promise gives", async () => {
  const { signal } = new AbortController();
  await expect(orAborted(callWith(signal), Promise.resolve(1))).resolves.toBe(1);
  await expect(orAborted(callWith(signal), Promise.reject(new Error("no")))).rejects.toThrow("no");
});

it("ends with the call, and the promise may fail later", async () => {
  const seen = unhandled();
  const stop = new AbortController();
  const work = Promise.withResolvers<void>();
  const waiting = orAborted(callWith(stop.signal), work.promise);
  stop.abort(new Error("over"));
  await expect(waiting).rejects.toThrow("over");
  work.reject(new Error("too late"));
  await nextTurn();
  expect(seen).toEqual([]);
});

it("SE-9 work that was started for a call that is over may fail without ending the process", async () => {
  const seen = unhandled();
  const work = Promise.withResolvers<void>();
  await expect(orAborted(callWith(AbortSignal.abort(new Error("over"))), work.promise)).rejects.toThrow("over");
  work.reject(new Error("too late"));
  await nextTurn();
  expect(seen).toEqual([]);
});
