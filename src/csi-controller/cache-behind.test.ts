/** DeleteVolume while the watch has not seen the PersistentVolume yet. Prefix, policy and Secret are nowhere else. */
import { expect, it } from "vitest";
import { Controller, volumeOf } from "./controller.fixture.ts";

const shared = { sharedBucket: "common", sharedBucketPrefix: "${pvc.namespace}" };

/** A volume below a prefix, with data, and its PersistentVolume. */
async function volumeWithData(controller: Controller, deletePolicy: string) {
  const store = controller.at("default");
  store.put("common");
  const made = await controller.create("pvc-1", { ...shared, deletePolicy });
  const key = `${made.volumeContext["prefix"]}a`;
  store.put("common", key);
  return { id: made.volumeId, key, volume: volumeOf("pvc-1", made), store };
}

it("DS-12 a volume that the cache does not have yet is purged below its whole prefix", async () => {
  const controller = new Controller();
  const { id, volume, store } = await volumeWithData(controller, "purge");
  await controller.delete(id, [volume], []);
  expect(store.keysIn("common")).toEqual([]);
});

it("DS-12 refuse-until-empty holds for a volume that the cache does not have yet", async () => {
  const controller = new Controller();
  const { id, key, volume, store } = await volumeWithData(controller, "refuse-until-empty");
  await expect(controller.delete(id, [volume], [])).rejects.toMatchObject({ kind: "inUse" });
  expect(store.keysIn("common")).toEqual([key]);
});

it("DS-12 data of a volume that the cache does not have yet is not purged if another PersistentVolume uses it", async () => {
  const controller = new Controller();
  const { id, key, volume, store } = await volumeWithData(controller, "purge");
  const copy = { ...volume, metadata: { ...volume.metadata, name: "copy", uid: "uid-copy" } };
  await expect(controller.delete(id, [copy, volume], [])).rejects.toThrow("PersistentVolume copy uses the same data");
  expect(store.keysIn("common")).toEqual([key]);
});

it("DS-12 data is not purged if another PersistentVolume, which the cache does not have yet, uses it", async () => {
  const controller = new Controller();
  const { id, key, volume, store } = await volumeWithData(controller, "purge");
  const copy = { ...volume, metadata: { ...volume.metadata, name: "copy", uid: "uid-copy" } };
  await expect(controller.delete(id, [volume, copy], [volume])).rejects.toThrow(
    "PersistentVolume copy uses the same data",
  );
  expect(store.keysIn("common")).toEqual([key]);
});

it.for([
  ["with another policy", { deletePolicy: "retain" }, "uid-pvc-1"],
  ["with the same policy", {}, "uid-anew"],
] as const)("DS-12 data is not purged if its PersistentVolume was created anew %s", async ([, attributes, uid]) => {
  const controller = new Controller();
  const { id, key, volume, store } = await volumeWithData(controller, "purge");
  const { csi } = volume.spec;
  const anew = {
    metadata: { ...volume.metadata, uid },
    spec: { csi: { ...csi, volumeAttributes: { ...csi.volumeAttributes, ...attributes } } },
  };
  await expect(controller.delete(id, [anew], [volume])).rejects.toMatchObject({ kind: "notReady" });
  expect(store.keysIn("common")).toEqual([key]);
});

it.for([
  ["below a prefix", shared],
  ["in a bucket of its own", {}],
] as const)(
  "DS-12 data %s is not purged once its PersistentVolume is gone: it may be about to be created anew",
  async ([, where]) => {
    const controller = new Controller();
    const store = controller.at("default");
    store.put("common");
    const made = await controller.create("pvc-1", { ...where, deletePolicy: "purge" });
    const { bucketName = "", prefix = "" } = made.volumeContext;
    store.put(bucketName, `${prefix}a`);
    await expect(controller.delete(made.volumeId, [], [volumeOf("pvc-1", made)])).rejects.toMatchObject({
      kind: "notReady",
    });
    expect(store.keysIn(bucketName)).toEqual([`${prefix}a`]);
  },
);

it("PR-11 without its Secret, a volume that the cache does not have yet is not looked for with the driver's credentials", async () => {
  const controller = new Controller();
  const made = await controller.create("pvc-1", {});
  const annotations = {
    "volume.kubernetes.io/provisioner-deletion-secret-name": "keys",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace": "team-a",
  };
  const volume = volumeOf("pvc-1", made);
  const withSecret = { ...volume, metadata: { ...volume.metadata, annotations } };
  await expect(controller.delete(made.volumeId, [withSecret], [])).rejects.toThrow("Secret team-a/keys");
  expect(controller.at("default").all.size).toBe(1);
});
