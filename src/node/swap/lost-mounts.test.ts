import { beforeEach, expect, it } from "vitest";
import { fuseDevice } from "../../linux/device-id.ts";
import type { MountNamespace } from "../../linux/mounts/mount-namespaces.ts";
import { LostMounts } from "./lost-mounts.ts";

const id = "mnt:[4026532001]";
const lost = { deviceId: fuseDevice(45), mountPoint: "/data", because: "ENOENT", isUnsafe: false };
let starts: Map<number, string>;
let lostMounts: LostMounts;

beforeEach(() => {
  starts = new Map([
    [10, "1000"],
    [11, "1001"],
  ]);
  lostMounts = new LostMounts((pid) => starts.get(pid));
  lostMounts.add(namespaceOf(10, 11), lost);
});

function namespaceOf(...pids: [number, ...number[]]): MountNamespace {
  return { id, pids };
}

it("LC-1 keeps the lost mounts of a namespace, by device, while a process of it runs", () => {
  starts.set(12, "2000");
  for (const pids of [[10, 11], [11, 12], [12]] as [number, ...number[]][]) lostMounts.keepOnly([namespaceOf(...pids)]);
  expect(lostMounts.in(namespaceOf(12), fuseDevice(45))).toEqual([lost]);
  expect(lostMounts.in(namespaceOf(12), fuseDevice(46))).toEqual([]);
});

it("LC-1 a new namespace with a reused number has no lost mounts, even if its process has a reused pid", () => {
  starts = new Map([[10, "5000"]]);
  lostMounts.keepOnly([namespaceOf(10)]);
  expect(lostMounts.in(namespaceOf(10), fuseDevice(45))).toEqual([]);
});

it("LC-1 drops a namespace that is gone, or whose processes ended during the check", () => {
  lostMounts.keepOnly([{ id: "mnt:[1]", pids: [10] }]);
  expect(lostMounts.in(namespaceOf(10), fuseDevice(45))).toEqual([]);
  lostMounts.add(namespaceOf(10), lost);
  starts.clear();
  lostMounts.keepOnly([namespaceOf(10)]);
  expect(lostMounts.in(namespaceOf(10), fuseDevice(45))).toEqual([]);
});

it("forgets the mounts of a device that no workload has any more: another may get its number", () => {
  lostMounts.add(namespaceOf(10, 11), { ...lost, deviceId: fuseDevice(46) });
  lostMounts.forget(fuseDevice(45));
  expect(lostMounts.in(namespaceOf(10), fuseDevice(45))).toEqual([]);
  expect(lostMounts.in(namespaceOf(10), fuseDevice(46))).toHaveLength(1);
});
