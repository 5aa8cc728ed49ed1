import { expect, it } from "vitest";
import { accepted, mayStart, mostAtOnce, type Refusal, refused, type ServerLoad, unloaded } from "./server-load.ts";

const refusal: Refusal = { startedAtMs: 900, atMs: 1000, inProgress: 20, retryAfterMs: undefined, random: 0 };
const busy: ServerLoad = { limit: 8, notBeforeMs: 800, refusals: 2, countedAtMs: 750 };

it.for<{ says: string; load: ServerLoad; with: Partial<Refusal>; becomes: Partial<ServerLoad> }>([
  { says: "half of what was in progress", load: unloaded, with: {}, becomes: { limit: 10, refusals: 1 } },
  { says: "half of the limit", load: busy, with: {}, becomes: { limit: 4, refusals: 3 } },
  { says: "one at a time at least", load: { ...busy, limit: 1.9 }, with: {}, becomes: { limit: 1 } },
  {
    says: "no fewer for the other requests of the same round",
    load: busy,
    with: { startedAtMs: 750 },
    becomes: { limit: 8, refusals: 2 },
  },
  { says: "a first pause of 50 ms", load: unloaded, with: {}, becomes: { notBeforeMs: 1050 } },
  { says: "and of 100 ms at most", load: unloaded, with: { random: 1 }, becomes: { notBeforeMs: 1100 } },
  { says: "a pause that doubles", load: busy, with: { random: 1 }, becomes: { notBeforeMs: 1400 } },
  {
    says: "a pause of 5 s at most",
    load: { ...busy, refusals: 5000 },
    with: { random: 1 },
    becomes: { notBeforeMs: 6000 },
  },
  { says: "the pause of Retry-After", load: busy, with: { retryAfterMs: 9000 }, becomes: { notBeforeMs: 10_000 } },
  {
    says: "the pause of Retry-After, spread over a fifth",
    load: busy,
    with: { retryAfterMs: 10_000, random: 1 },
    becomes: { notBeforeMs: 13_000 },
  },
  {
    says: "the pause of Retry-After also for the other requests of the same round",
    load: busy,
    with: { startedAtMs: 750, retryAfterMs: 9000 },
    becomes: { notBeforeMs: 10_000, limit: 8 },
  },
  {
    says: "no more than a minute of Retry-After",
    load: busy,
    with: { retryAfterMs: 86_400_000 },
    becomes: { notBeforeMs: 61_000 },
  },
  {
    says: "the longest pause that was asked for",
    load: { ...busy, notBeforeMs: 30_000 },
    with: { retryAfterMs: 1000 },
    becomes: { notBeforeMs: 30_000 },
  },
])("a refusal means $says", ({ load, with: given, becomes }) => {
  expect(refused(load, { ...refusal, ...given })).toMatchObject(becomes);
});

it("accepted requests bring back what refusals took, one more per round", () => {
  let load = { ...busy, limit: 4 };
  for (let i = 0; i < 4; i += 1) load = accepted(load);
  expect(load.limit).toBeCloseTo(5, 0);
  expect(load.refusals).toBe(0);
  for (let i = 0; i < 10_000; i += 1) load = accepted(load);
  expect(load.limit).toBe(mostAtOnce);
});

it.for([
  { inProgress: 7, nowMs: 800, may: true },
  { inProgress: 8, nowMs: 800, may: false },
  { inProgress: 0, nowMs: 799, may: false },
])("with $inProgress of 8 in progress at $nowMs of 800 ms a request may start: $may", ({ inProgress, nowMs, may }) => {
  expect(mayStart({ ...busy, limit: 8.9 }, inProgress, nowMs)).toBe(may);
});
