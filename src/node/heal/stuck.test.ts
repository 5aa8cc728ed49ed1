import { expect, it } from "vitest";
import { kubeletDir, mountpointPod, podOf, source } from "../../../test/support/fake-node.ts";
import { mountDevice } from "../../core/names.ts";
import { type DeviceId, fuseDevice } from "../../linux/device-id.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { MountTable } from "../mounts/mount-table.ts";
import { isStuck } from "./stuck.ts";

const since = new Date("2026-01-15T10:30:00.500Z");
const ended = (finishedAt: string): Partial<LocalMountpointPod> => ({ lastTermination: { exitCode: 1, finishedAt } });
/** A node plugin that was down notices a death seconds late. */
const before = ended("2026-01-15T10:29:50Z");
const deadDevice = fuseDevice(7);
const serves = (deviceId: DeviceId): readonly Mount[] => [
  {
    id: 2,
    parentId: 1,
    deviceId,
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
  { what: "keeps running", pod: {}, stuck: true },
  { what: "keeps running with the dead mount", pod: {}, mounts: serves(deadDevice), stuck: true },
  { what: "was restarted long before, and does not take a mount", pod: ended("2026-01-15T09:00:00Z"), stuck: true },
  {
    what: "has another mount, because it was restarted before the death was noticed",
    pod: before,
    mounts: serves(fuseDevice(8)),
    stuck: false,
  },
  { what: "has no record, so that no mount was requested from it", pod: before, isForgotten: true, stuck: false },
  { what: "terminated with the mount", pod: ended("2026-01-15T10:30:00Z"), stuck: false },
  {
    what: "terminated as early as the whole seconds of the API allow",
    pod: ended("2026-01-15T10:29:59.500Z"),
    stuck: false,
  },
  { what: "may terminate soon", pod: {}, afterMs: 29_999, stuck: false },
  { what: "is in back-off", pod: { waiting: { reason: "CrashLoopBackOff" } }, stuck: false },
  { what: "failed", pod: { phase: "failed" }, stuck: false },
])("a Mountpoint Pod that $what: $stuck", ({ pod, mounts = [], isForgotten = false, afterMs = 30_000, stuck }) => {
  const node = {
    mounts: { table: () => new MountTable(mounts, kubeletDir) },
    records: { mounts: { get: () => (isForgotten ? undefined : {}) } },
    cluster: { mountpointPods: { get: () => podOf(pod) } },
  } as unknown as Parameters<typeof isStuck>[0];
  const dead = { deviceId: deadDevice, mountpointPod, since };
  expect(isStuck(node, dead, new Date(since.getTime() + afterMs))).toBe(stuck);
});
