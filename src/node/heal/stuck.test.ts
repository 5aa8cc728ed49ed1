import { expect, it } from "vitest";
import { kubeletDir, mountpointPod, podOf, source } from "../../../test/support/fake-node.ts";
import { mountDevice } from "../../core/names.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { MountTable } from "../mounts/mount-table.ts";
import { isStuck } from "./stuck.ts";

const since = new Date("2026-01-15T10:30:00.500Z");
const ended = (finishedAt: string): Partial<LocalMountpointPod> => ({ lastTermination: { exitCode: 1, finishedAt } });
/** A node plugin that was away notices a death seconds late. */
const before = ended("2026-01-15T10:29:50Z");
const deadMinor = 7;
const serves = (minor: number): readonly Mount[] => [
  {
    id: 2,
    parentId: 1,
    major: 0,
    minor,
    root: "/",
    mountPoint: source,
    readOnly: false,
    fsType: "fuse",
    device: mountDevice,
  },
];

interface Row {
  readonly what: string;
  readonly pod: Partial<LocalMountpointPod>;
  readonly mounts?: readonly Mount[];
  readonly isForgotten?: boolean;
  readonly afterMs?: number;
  readonly stuck: boolean;
}

it.for<Row>([
  { what: "runs on as if nothing had happened", pod: {}, stuck: true },
  { what: "runs on, and has kept the dead mount", pod: {}, mounts: serves(deadMinor), stuck: true },
  { what: "has ended long before, and is asked in vain for a mount", pod: ended("2026-01-15T09:00:00Z"), stuck: true },
  {
    what: "has another mount, because it ended before the death was noticed",
    pod: before,
    mounts: serves(8),
    stuck: false,
  },
  { what: "could not be asked for a mount: nobody remembers it", pod: before, isForgotten: true, stuck: false },
  { what: "has ended with the mount", pod: ended("2026-01-15T10:30:00Z"), stuck: false },
  { what: "may be about to end", pod: {}, afterMs: 29_999, stuck: false },
  { what: "is in back-off", pod: { waiting: { reason: "CrashLoopBackOff" } }, stuck: false },
  { what: "failed", pod: { phase: "failed" }, stuck: false },
])("one that $what: $stuck", ({ pod, mounts = [], isForgotten = false, afterMs = 30_000, stuck }) => {
  const node = {
    mounts: () => new MountTable(mounts, kubeletDir),
    records: { get: () => (isForgotten ? undefined : {}) },
    mountpointPods: { get: () => podOf(pod) },
  } as unknown as Parameters<typeof isStuck>[0];
  const dead = { minor: deadMinor, mountpointPod, since, pendingTargets: [] };
  expect(isStuck(node, dead, new Date(since.getTime() + afterMs))).toBe(stuck);
});
