import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { jsonLogger } from "../../runtime/log.ts";
import { ApiError } from "./api-error.ts";
import { ServerGate } from "./server-gate.ts";

let gate: ServerGate;
let lines: string[];
let stop: AbortController;
let call: { signal: AbortSignal; log: ReturnType<typeof jsonLogger> };
beforeEach(() => {
  vi.useFakeTimers();
  gate = new ServerGate();
  lines = [];
  stop = new AbortController();
  call = { signal: stop.signal, log: jsonLogger((line) => lines.push(line), 2) };
});
afterEach(() => vi.useRealTimers());

const overload = (retryAfterMs?: number) => new ApiError(429, "TooManyRequests", "too many", retryAfterMs);
const refusedBy = (failure: unknown) =>
  gate
    .pass(call, async () => {
      throw failure as Error;
    })
    .catch(() => undefined);

/** Requests that are answered by hand. */
function requests() {
  const open: PromiseWithResolvers<void>[] = [];
  let started = 0;
  const send = () =>
    gate.pass(call, () => {
      started += 1;
      const answer = Promise.withResolvers<void>();
      open.push(answer);
      return answer.promise;
    });
  return {
    send,
    started: () => started,
    answer: () => open.shift()?.resolve(),
    refuse: () => open.shift()?.reject(overload()),
  };
}

it("lets requests pass, and their answers and failures", async () => {
  expect(await gate.pass(call, () => Promise.resolve("answer"))).toBe("answer");
  await expect(gate.pass(call, () => Promise.reject(new Error("failure")))).rejects.toThrow("failure");
  expect(vi.getTimerCount()).toBe(0);
});

it("SC-6 no request starts before the time that the server asks for", async () => {
  await refusedBy(overload(10_000));
  const { send, started, answer } = requests();
  const sent = [send(), send()];
  await vi.advanceTimersByTimeAsync(9999);
  expect(started()).toBe(0);
  await vi.advanceTimersByTimeAsync(2001);
  expect(started()).toBe(1); // one was in progress at the refusal, so one is
  answer();
  await sent[0];
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(2);
  answer();
  await sent[1];
});

it("SC-6 half as many requests at once after a round that was refused, and more again as they are accepted", async () => {
  const first = requests();
  const sent = Array.from({ length: 16 }, () => first.send().catch(() => undefined));
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 16; i += 1) first.refuse();
  await Promise.all(sent);
  const { send, started, answer } = requests();
  for (let i = 0; i < 40; i += 1) send().catch(() => undefined);
  await vi.advanceTimersByTimeAsync(100);
  expect(started()).toBe(8);
  for (let i = 0; i < 9; i += 1) {
    answer();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(started()).toBe(8 + 9 + 1);
});

it.for([
  { failure: "503", error: new ApiError(503, "ServiceUnavailable", ""), isCounted: true },
  { failure: "504", error: new ApiError(504, "Timeout", ""), isCounted: true },
  { failure: "no answer", error: new DriverError("notReady", "connection failed"), isCounted: true },
  { failure: "500 with Retry-After", error: new ApiError(500, "ServerTimeout", "", 1000), isCounted: true },
  { failure: "500", error: new ApiError(500, "InternalError", ""), isCounted: false },
  { failure: "409", error: new ApiError(409, "Conflict", ""), isCounted: false },
  { failure: "403", error: new ApiError(403, "Forbidden", ""), isCounted: false },
  { failure: "an abort", error: new DOMException("", "AbortError"), isCounted: false },
])("$failure makes the next request wait: $isCounted", async ({ error, isCounted }) => {
  await refusedBy(error);
  const { send, started, answer } = requests();
  const sent = send();
  await vi.advanceTimersByTimeAsync(0);
  expect(started()).toBe(isCounted ? 0 : 1);
  await vi.advanceTimersByTimeAsync(2000);
  answer();
  await sent;
});

it("the request that waits longest is next, and one whose call ends waits no more", async () => {
  await refusedBy(overload(1000));
  const order: string[] = [];
  const left = new AbortController();
  const send = (name: string, signal = call.signal) =>
    gate.pass({ ...call, signal }, () => Promise.resolve(void order.push(name)));
  const sent = [send("first"), send("left", left.signal), send("second")] as const;
  left.abort(new Error("the caller left"));
  await expect(sent[1]).rejects.toThrow("the caller left");
  await vi.advanceTimersByTimeAsync(1200);
  await Promise.all([sent[0], sent[2]]);
  expect(order).toEqual(["first", "second"]);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
});

it("keeps no timer for requests whose calls have ended", async () => {
  await refusedBy(overload(30_000));
  const waiting = gate.pass(call, () => Promise.resolve("late")).catch(() => undefined);
  stop.abort(new Error("the program ends"));
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

it("no request waits for more than a minute", async () => {
  await refusedBy(overload(60_000));
  const { send } = requests();
  const failures = [send(), send()].map((sent) => sent.catch((error: unknown) => String(error)));
  await vi.advanceTimersByTimeAsync(60_000);
  const waited = expect.stringContaining("waiting for the overloaded API server");
  expect(await Promise.all(failures)).toEqual([waited, waited]);
});

it("the log has a server that refuses requests once a minute", async () => {
  for (let i = 0; i < 10; i += 1) {
    const sent = refusedBy(overload());
    await vi.advanceTimersByTimeAsync(5000);
    await sent;
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("sending fewer");
});
