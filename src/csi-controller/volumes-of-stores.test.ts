/** Volumes on several stores, from CreateVolume to DeleteVolume: two stores may have buckets of one name. */
import { expect, it } from "vitest";
import { driverName } from "../core/names.ts";
import type { Volume } from "../csi/gen/csi.ts";
import { Controller, volumeOf } from "./controller.fixture.ts";
import { MemoryBuckets } from "./memory-buckets.fixture.ts";

const minioStore = { store: "minio" };

it("ID-4 with one store, ID and attributes of a volume are those of earlier versions", async () => {
  const { volumeId, volumeContext } = await new Controller({}).create("pvc-1", {});
  expect(volumeId).toBe("csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96");
  expect(volumeContext).toEqual({
    bucketName: volumeId,
    authenticationSource: "driver",
    dynamicProvisioning: "true",
  });
});

it("ID-4 a volume is created on the store of its class, and its attributes name the store", async () => {
  const controller = new Controller();
  const { volumeId, volumeContext } = await controller.create("pvc-1", minioStore);
  const bucket = "csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96";
  expect(volumeId).toBe(`${bucket}@minio`);
  expect(volumeContext).toMatchObject({ bucketName: bucket, store: "minio", endpointUrl: "http://minio" });
  expect(controller.at("default").all.size).toBe(0);
  const { tags } = controller.at("minio").all.get(bucket) ?? {};
  expect(tags).toMatchObject({ "s3.csi.scality.com/volume-id": volumeId });
});

it("ID-4 a store that the class or the Secret names is in the attributes, also if it is the default one", async () => {
  const controller = new Controller();
  const ofClass = await controller.create("pvc-1", { store: "default" });
  expect(ofClass.volumeContext["store"]).toBe("default");
  // Its address may change, as in 2.x.
  expect(ofClass.volumeContext).not.toHaveProperty("endpointUrl");
  expect(ofClass.volumeId).not.toContain("@");
  const keys = { access_key_id: "a", secret_access_key: "b" };
  const ofSecret = await controller.create("pvc-2", {}, { ...keys, store: "minio" });
  expect(ofSecret.volumeContext).toMatchObject({ store: "minio", authenticationSource: "secret" });
  expect([...controller.at("minio").all.keys()]).toEqual([ofSecret.volumeContext["bucketName"]]);
});

it("ID-1 a class with authenticationSource pod gives its volumes source and role", async () => {
  const roleArn = "arn:aws:iam::1:role/${pvc.namespace}";
  const pod = { store: "cloud", authenticationSource: "pod" };
  const { volumeContext } = await new Controller().create("pvc-1", { ...pod, roleArn });
  expect(volumeContext).toMatchObject({ authenticationSource: "pod", roleArn: "arn:aws:iam::1:role/team-a" });
  const { volumeContext: withoutRole } = await new Controller().create("pvc-1", pod);
  expect(withoutRole).not.toHaveProperty("roleArn");
});

it.for([
  ["minio", "default"],
  ["default", "minio"],
] as const)(
  "ID-4 of two buckets of one name, only that on store %s is purged with its volume",
  async ([own, other]) => {
    const controller = new Controller();
    const purge = { deletePolicy: "purge" };
    const volumes = new Map<string, Volume>();
    for (const store of [own, other]) volumes.set(store, await controller.create("pvc-1", { ...purge, store }));
    const volume = volumes.get(own) as Volume;
    const { bucketName = "" } = volume.volumeContext;
    for (const store of [own, other]) controller.at(store).put(bucketName, "a");
    const known = [...volumes.values()].map((each) => volumeOf("pvc-1", each));
    await controller.delete(volume.volumeId, [known[0] as object]);
    expect(controller.at(own).keysIn(bucketName)).toBeUndefined();
    expect(controller.at(other).keysIn(bucketName)).toEqual(["a"]);
  },
);

it("ID-4 a bucket that is kept is reported with its store, and tagged there", async () => {
  const controller = new Controller();
  const volume = await controller.create("pvc-1", minioStore);
  const { bucketName = "" } = volume.volumeContext;
  controller.at("minio").put(bucketName, "a");
  await controller.delete(volume.volumeId, [volumeOf("pvc-1", volume)]);
  expect(controller.kept).toMatchObject([{ store: "minio", bucket: bucketName, reason: "notEmpty" }]);
  expect(controller.at("minio").all.get(bucketName)?.tags).toHaveProperty(["s3.csi.scality.com/kept"], "notEmpty");
});

it.for(["purge", "delete-if-empty", "retain"])(
  "ID-4 with deletePolicy %s, nothing is deleted for a store that is not listed any more",
  async (deletePolicy) => {
    const before = new Controller();
    const volume = await before.create("pvc-1", { ...minioStore, deletePolicy });
    const { bucketName = "" } = volume.volumeContext;
    before.at("default").put(bucketName);
    const after = new Controller({}, before.contents);
    await expect(after.delete(volume.volumeId, [volumeOf("pvc-1", volume)])).rejects.toMatchObject({
      kind: "invalid",
      hint: expect.stringContaining("s3.stores.minio"),
    });
    for (const store of ["default", "minio"]) expect(before.at(store).keysIn(bucketName)).toEqual([]);
  },
);

it.for(["purge", "delete-if-empty", "refuse-until-empty"])(
  "ID-4 with deletePolicy %s, a volume does not pass for deleted while its store's name stands for another store",
  async (deletePolicy) => {
    const before = new Controller();
    const volume = await before.create("pvc-1", { ...minioStore, deletePolicy });
    const { bucketName = "" } = volume.volumeContext;
    before.at("minio").put(bucketName, "a");
    const elsewhere = new Map([...before.contents, ["minio", new MemoryBuckets()]]);
    const another = new Controller({ minio: { endpointUrl: "http://another" } }, elsewhere);
    const known = [volumeOf("pvc-1", volume)];
    await expect(another.delete(volume.volumeId, known)).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining('endpointUrl "http://minio" is not an address of store minio'),
      hint: expect.stringContaining("s3.stores.minio.formerEndpointUrls"),
    });
    const moved = { endpointUrl: "http://another", formerEndpointUrls: ["http://minio"] };
    await new Controller({ minio: moved }, elsewhere).delete(volume.volumeId, known);
    expect(before.at("minio").keysIn(bucketName)).toEqual(["a"]);
  },
);

it.for([
  ["names another store", { store: "cloud" }, "cloud"],
  ["names a store that is not listed", { store: "gone" }, "gone"],
  ["has the address of another store", { store: "", endpointUrl: "http://s3" }, "default"],
] as const)("ID-4 nothing is deleted for a PersistentVolume that %s", async ([, more, store]) => {
  const controller = new Controller();
  const volume = await controller.create("pvc-1", minioStore);
  await expect(controller.delete(volume.volumeId, [volumeOf("pvc-1", volume, more)])).rejects.toMatchObject({
    kind: "invalid",
    message: expect.stringContaining(`is on store ${store}, and its volumeHandle`),
  });
  expect(controller.at("minio").all.size).toBe(1);
});

it.for([
  ["on the same store", { store: "minio" }, 1],
  ["on a store that only its Secret may name", undefined, 1],
  ["on another store", { store: "cloud" }, 0],
] as const)("ID-4 a PersistentVolume with a bucket of this name %s: it keeps %j", async ([, named, left]) => {
  const controller = new Controller();
  const volume = await controller.create("pvc-1", { ...minioStore, deletePolicy: "purge" });
  const { bucketName = "" } = volume.volumeContext;
  controller.at("minio").put(bucketName, "a");
  const csi = {
    driver: driverName,
    volumeHandle: "static",
    volumeAttributes: { bucketName, ...named },
    nodePublishSecretRef: { name: "s", namespace: "n" },
  };
  const reader = { metadata: { name: "reader", uid: "2", resourceVersion: "1" }, spec: { csi } };
  await controller.delete(volume.volumeId, [volumeOf("pvc-1", volume), reader]).catch(() => undefined);
  expect(controller.at("minio").all.size).toBe(left);
});

it("ID-4 a volume exists on its own store only", async () => {
  const controller = new Controller();
  const { volumeId, volumeContext } = await controller.create("pvc-1", minioStore);
  expect(await controller.exists(volumeId)).toBe(true);
  expect(await controller.exists(volumeContext["bucketName"] ?? "")).toBe(false);
  await expect(controller.exists(`${volumeContext["bucketName"]}@gone`)).rejects.toThrow("store gone");
});

const shared = { sharedBucket: "common", sharedBucketPrefix: "${pvc.namespace}" };

it("ID-4 volumes of a class with sharedBucketPrefix are directories below it, and no bucket is made", async () => {
  const controller = new Controller();
  controller.at("minio").put("common");
  const { volumeId, volumeContext } = await controller.create("pvc-1", { ...shared, ...minioStore });
  expect(volumeContext).toMatchObject({
    bucketName: "common",
    prefix: "team-a/csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/",
  });
  expect(volumeId).toBe("csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/prefix-in/common@minio");
  expect([...controller.at("minio").all.keys()]).toEqual(["common"]);
});

it.for([
  ["keeps the data by default", undefined, true],
  ["keeps the data with retain", "retain", true],
  ["removes nothing but its own data with purge", "purge", false],
] as const)("DS-12 the deletion of a volume below sharedBucketPrefix %s", async ([, deletePolicy, keeps]) => {
  const controller = new Controller();
  const store = controller.at("default");
  store.put("common");
  const parameters = { ...shared, ...(deletePolicy && { deletePolicy }) };
  const volume = await controller.create("pvc-1", parameters);
  const own = `${volume.volumeContext["prefix"]}a`;
  const others = ["a", "team-a/a", "csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/a", `team-b/${own}`];
  store.put("common", own, ...others);
  await controller.delete(volume.volumeId, [volumeOf("pvc-1", volume)]);
  expect(store.keysIn("common")?.toSorted()).toEqual([...others, ...(keeps ? [own] : [])].toSorted());
  expect(controller.kept).toHaveLength(keeps ? 1 : 0);
});

it.for([
  ["one mount option", "", ["prefix=team-a/csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/"]],
  ["attribute and mount option", "team-a/", ["--prefix csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/"]],
  ["the attribute and a deeper option", "team-a/csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96/", ["prefix=deeper/"]],
] as const)(
  "DS-12 the directory of a volume that another has in %s is not purged",
  async ([, prefix, mountOptions]) => {
    const controller = new Controller();
    controller.at("default").put("common");
    const volume = await controller.create("pvc-1", { ...shared, deletePolicy: "purge" });
    const key = `${volume.volumeContext["prefix"]}a`;
    controller.at("default").put("common", key);
    const other = volumeOf("reader", { ...volume, volumeId: "static" }, { prefix });
    const reader = { ...other, spec: { ...other.spec, mountOptions } };
    await expect(controller.delete(volume.volumeId, [volumeOf("pvc-1", volume), reader])).rejects.toThrow(
      "PersistentVolume reader uses the same data",
    );
    expect(controller.at("default").keysIn("common")).toEqual([key]);
  },
);

it.for([
  ["a directory of many volumes", "team-a/"],
  ["the directory of another volume", "team-a/csi-s3-00000000-61b8-5f18-ac0a-7e1dc5fbcb96/"],
  ["the whole bucket", ""],
] as const)("DS-12 a PersistentVolume whose prefix was changed to %s purges nothing there", async ([, prefix]) => {
  const controller = new Controller();
  controller.at("default").put("common");
  const volume = await controller.create("pvc-1", { ...shared, deletePolicy: "purge" });
  controller.at("default").put("common", `${prefix}a`);
  await controller.delete(volume.volumeId, [volumeOf("pvc-1", volume, { prefix })]);
  expect(controller.at("default").keysIn("common")).toEqual([`${prefix}a`]);
});

it("ID-4 the ID of a volume on a named store is deleted only there, also without a PersistentVolume", async () => {
  const controller = new Controller();
  const { volumeId, volumeContext } = await controller.create("pvc-1", minioStore);
  controller.at("default").put(volumeContext["bucketName"] ?? "");
  await controller.delete(volumeId);
  expect(controller.at("minio").all.size).toBe(0);
  expect(controller.at("default").all.size).toBe(1);
  await controller.delete(`${volumeContext["bucketName"]}@cloud`);
  expect(controller.at("default").all.size).toBe(1);
});
