import { expect, it } from "vitest";
import { mountpointPod, podOf } from "../../../test/support/fake-node.ts";
import type { LocalMountpointPod } from "../mountpoint-pods.ts";
import { isStuck } from "./stuck.ts";

const since = new Date("2026-01-15T10:30:00.500Z");
const ended = (finishedAt: string): Partial<LocalMountpointPod> => ({ lastEnd: { exitCode: 1, finishedAt } });

it.for([
  { what: "runs on as if nothing had happened", pod: {}, afterMs: 30_000, stuck: true },
  { what: "has ended long before", pod: ended("2026-01-15T09:00:00Z"), afterMs: 30_000, stuck: true },
  { what: "has ended with the mount", pod: ended("2026-01-15T10:30:00Z"), afterMs: 30_000, stuck: false },
  { what: "may be about to end", pod: {}, afterMs: 29_999, stuck: false },
  { what: "is in back-off", pod: { waiting: { reason: "CrashLoopBackOff" } }, afterMs: 30_000, stuck: false },
  { what: "failed", pod: { phase: "failed" }, afterMs: 30_000, stuck: false },
] as const)("one that $what: $stuck", ({ pod, afterMs, stuck }) => {
  const mountpointPods = { get: () => podOf(pod) } as unknown as Parameters<typeof isStuck>[0]["mountpointPods"];
  const dead = { minor: 7, mountpointPod, since };
  expect(isStuck({ mountpointPods }, dead, new Date(since.getTime() + afterMs))).toBe(stuck);
});
