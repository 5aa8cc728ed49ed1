/** One store under several names, with different accounts: what one name's volumes use, the deletion of another's must not remove. */
import { expect, it } from "vitest";
import { Controller, volumeOf } from "./controller.fixture.ts";
import { MemoryBuckets } from "./memory-buckets.fixture.ts";

const address = "http://minio";

it.for([
  ["listed twice", { b: { endpointUrl: `${address}:80/` } }, { store: "b" }],
  ["moved", { b: { endpointUrl: "http://new", formerEndpointUrls: [address] } }, { store: "b" }],
  ["not listed any more", {}, { store: "b" }],
  ["the default store, too", { a: { endpointUrl: "http://s3" } }, {}],
  ["the default store, named by its address", { a: { endpointUrl: "http://s3" } }, { endpointUrl: "http://s3" }],
] as const)(
  "DS-12 a bucket that another PersistentVolume uses is not purged if its store is %s",
  async ([, more, named]) => {
    const store = new MemoryBuckets();
    const contents = new Map(["default", "a", "b"].map((name) => [name, store]));
    const controller = new Controller({ a: { endpointUrl: address }, ...more }, contents);
    const volume = await controller.create("pvc-1", { store: "a", deletePolicy: "purge" });
    const { bucketName = "" } = volume.volumeContext;
    store.put(bucketName, "a");
    const other = volumeOf("other", { ...volume, volumeId: "static", volumeContext: { bucketName, ...named } });
    await expect(controller.delete(volume.volumeId, [volumeOf("pvc-1", volume), other])).rejects.toMatchObject({
      kind: "denied",
      message: expect.stringContaining("PersistentVolume other uses the same data"),
    });
    expect(store.keysIn(bucketName)).toEqual(["a"]);
  },
);
