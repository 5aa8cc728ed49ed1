import { expect, it } from "vitest";
import { driverAccess, secretAccess } from "../../../test/support/fake-credentials.ts";
import { mapStorage as storage } from "../../../test/support/fake-healing.ts";
import { credentialsOf } from "../../../test/support/fake-node.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { type MountRecord, MountRecords } from "./mount-records.ts";

const [first, second] = ["mp-1" as PodName, "mp-2" as PodName];
const user = { namespace: "default", name: "app", uid: "u1" as PodUid };
const record: MountRecord = {
  persistentVolume: "pv" as PvName,
  volumeId: "photos" as VolumeId,
  workload: "u1" as PodUid,
  pidNamespace: "private",
  request: { bucketName: "photos", args: ["--allow-delete"], env: { AWS_REGION: "us-east-1" } },
  access: secretAccess(credentialsOf("own")),
};

it("restores records after a restart, keys and users included", () => {
  const kept = storage();
  const records = new MountRecords(kept);
  records.set(first, record);
  records.addUser(first, "/target", user);
  records.keepAccess(first, secretAccess(credentialsOf("newer")));

  const again = new MountRecords(kept);
  expect(again.get(first)).toMatchObject({ request: record.request, persistentVolume: "pv" });
  const access = again.get(first)?.access;
  expect(access?.source === "secret" && access.credentials.secretAccessKey.reveal()).toBe("newer-secret");
  expect(again.userAt("/target")).toEqual(user);
  expect(again.holderOf("/target")).toBe(first);
});

it.for([
  driverAccess,
  { source: "driver", store: "minio" as StoreName },
  {
    source: "pod",
    store: "minio" as StoreName,
    account: { namespace: "a", name: "app" },
    role: "arn:aws:iam::1:role/x",
  },
] as const)("stores no keys for a volume that has none of its own: $source at $store", (access) => {
  const kept = storage();
  new MountRecords(kept).set(first, { ...record, access });
  expect(new MountRecords(kept).get(first)?.access).toEqual(access);
  expect(kept.files.get(first)).toContain('"keys":null');
});

it.for([
  [null, "driver"],
  [{ accessKeyId: "i", secretAccessKey: "s" }, "secret"],
] as const)("reads the keys %j of an earlier version, which knew one store, as those of the %s", ([keys, source]) => {
  const kept = storage();
  const { access: _access, ...earlier } = record;
  kept.write(first, JSON.stringify({ record: { ...earlier, keys }, users: {} }));
  expect(new MountRecords(kept).get(first)?.access).toMatchObject({ source, store: "default" });
});

it("stores the credentials under the name that earlier versions read", () => {
  const kept = storage();
  new MountRecords(kept).set(first, record);
  const text = kept.files.get(first) ?? "";
  expect(JSON.parse(text)).toMatchObject({
    record: { keys: { accessKeyId: "own-id", secretAccessKey: "own-secret" } },
  });
});

it("lists a user at one Mountpoint Pod only", () => {
  const records = new MountRecords(storage());
  records.set(first, record);
  records.set(second, record);
  records.addUser(first, "/target", user);
  records.moveUser("/target", second);
  expect(records.holderOf("/target")).toBe(second);
  records.dropUser("/target");
  expect(records.holderOf("/target")).toBeUndefined();
});

it("keeps a user at its Mountpoint Pod if the successor has no record", () => {
  const records = new MountRecords(storage());
  records.set(first, record);
  records.addUser(first, "/target", user);
  records.moveUser("/target", second);
  expect(records.userAt("/target")).toEqual(user);
  expect(records.uses).toEqual([{ target: "/target", holder: first }]);
});

it("keeps the record of a removed Mountpoint Pod while a workload waits for the successor", () => {
  const kept = storage();
  const records = new MountRecords(kept);
  records.set(first, record);
  records.addUser(first, "/target", user);
  records.remove(first);
  expect(records.get(first)).toBeDefined();
  records.set(second, record);
  records.moveUser("/target", second);
  expect(records.mountpointPods).toEqual([second]);
  expect([...kept.files.keys()]).toEqual([second]);
});

it("removes a record from storage, and ignores records that it cannot parse", () => {
  const kept = storage();
  const records = new MountRecords(kept);
  records.set(first, record);
  records.remove(first);
  expect(kept.files.size).toBe(0);
  kept.files.set("mp-3", "{ secret");
  expect(new MountRecords(kept).get("mp-3" as PodName)).toBeUndefined();
});
