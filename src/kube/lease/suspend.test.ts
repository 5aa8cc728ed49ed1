import os from "node:os";
import { afterEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import { nowWithSuspendMs } from "../../runtime/suspend-clock.ts";
import type { KubeClient } from "../client/client.ts";
import { kinds } from "../kinds.ts";
import { Term } from "./term.ts";

const call = { signal: new AbortController().signal, log: silentLogger };

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it.for([
  { asleepS: 0, writes: 1 },
  { asleepS: 8, writes: 1 },
  { asleepS: 11, writes: 0 },
  { asleepS: 3600, writes: 0 },
])("SC-8 a leader whose machine slept for $asleepS of the 10 seconds of its term writes: $writes", async (row) => {
  vi.useFakeTimers();
  const written: unknown[] = [];
  const client = { patch: async (...args: unknown[]) => void written.push(args) } as unknown as KubeClient;
  const term = new Term(call, nowWithSuspendMs() + 10_000);
  const uptime = os.uptime();
  vi.spyOn(os, "uptime").mockImplementation(() => uptime + row.asleepS);
  await term
    .writer(client)
    .patch(term, kinds.pods, { name: "a" }, {})
    .catch(() => undefined);
  expect(written).toHaveLength(row.writes);
  expect(term.isOver).toBe(row.writes === 0);
  term.end();
});
