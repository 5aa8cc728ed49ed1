import { expect, it } from "vitest";
import { mapKeeper as keeper } from "../../../test/support/fake-healing.ts";
import { keysOf } from "../../../test/support/fake-node.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { MountMemory, type MountRecord } from "./mount-records.ts";

const [first, second] = ["mp-1" as PodName, "mp-2" as PodName];
const user = { namespace: "default", name: "app", uid: "u1" as PodUid };
const record: MountRecord = {
  persistentVolume: "pv" as PvName,
  volumeId: "photos" as VolumeId,
  workload: "u1" as PodUid,
  pidNamespace: "private",
  request: { bucketName: "photos", args: ["--allow-delete"], env: { AWS_REGION: "us-east-1" } },
  keys: keysOf("own"),
};

it("knows after a restart what it knew before, keys and users included", () => {
  const kept = keeper();
  const memory = new MountMemory(kept);
  memory.remember(first, record);
  memory.addUser(first, "/target", user);
  memory.keepKeys(first, keysOf("newer"));

  const again = new MountMemory(kept);
  expect(again.recall(first)).toMatchObject({ request: record.request, persistentVolume: "pv" });
  expect(again.recall(first)?.keys?.secretAccessKey.reveal()).toBe("newer-secret");
  expect(again.userAt("/target")).toEqual(user);
  expect(again.holderOf("/target")).toBe(first);
});

it("knows a driver's identity by its having no keys", () => {
  const kept = keeper();
  new MountMemory(kept).remember(first, { ...record, keys: undefined });
  expect(new MountMemory(kept).recall(first)?.keys).toBeUndefined();
});

it("has a user on one Mountpoint Pod only, wherever it was before", () => {
  const memory = new MountMemory(keeper());
  memory.remember(first, record);
  memory.remember(second, record);
  memory.addUser(first, "/target", user);
  memory.moveUser("/target", second);
  expect(memory.holderOf("/target")).toBe(second);
  memory.dropUser("/target");
  expect(memory.holderOf("/target")).toBeUndefined();
});

it("keeps a user where it is known when nothing is known of the Mountpoint Pod that takes over", () => {
  const memory = new MountMemory(keeper());
  memory.remember(first, record);
  memory.addUser(first, "/target", user);
  memory.moveUser("/target", second);
  expect(memory.userAt("/target")).toEqual(user);
  expect(memory.uses).toEqual([{ target: "/target", holder: first }]);
});

it("remembers one that has ended for as long as a workload waits for its successor", () => {
  const kept = keeper();
  const memory = new MountMemory(kept);
  memory.remember(first, record);
  memory.addUser(first, "/target", user);
  memory.forget(first);
  expect(memory.recall(first)).toBeDefined();
  memory.remember(second, record);
  memory.moveUser("/target", second);
  expect(memory.mountpointPods).toEqual([second]);
  expect([...kept.files.keys()]).toEqual([second]);
});

it("forgets for good, and takes no notice of what it cannot read", () => {
  const kept = keeper();
  const memory = new MountMemory(kept);
  memory.remember(first, record);
  memory.forget(first);
  expect(kept.files.size).toBe(0);
  kept.files.set("mp-3", "{ secret");
  expect(new MountMemory(kept).recall("mp-3" as PodName)).toBeUndefined();
});
