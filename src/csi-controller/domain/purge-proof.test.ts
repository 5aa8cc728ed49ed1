import { expect, it } from "vitest";
import type { Tags } from "./bucket-tags.ts";
import { type BucketWish, placeFrom, placeOf } from "./dynamic-volume.ts";
import { gapInProof, type PurgeCase } from "./purge-proof.ts";

const name = "pvc-476e33c4-5a17-46ea-a9ca-80f9ee95fed6";
const own = placeOf(name, { kind: "own" });
const named = placeOf(name, { kind: "named", prefix: "team" });
const shared = placeOf(name, { kind: "shared", bucket: "common" });

function tagsFor(id: string, cluster: string | undefined = "c-1"): Tags {
  return { "s3.csi.scality.com/volume-id": id, ...(cluster && { "s3.csi.scality.com/cluster": cluster }) };
}

const proven: PurgeCase = { place: own, volume: name, others: [], tags: tagsFor(own.id), cluster: "c-1" };

it.for<readonly [string, PurgeCase]>([
  ["tags, name and volume", proven],
  ["tags alone, when there is no PersistentVolume", { ...proven, volume: undefined }],
  ["a readable name", { ...proven, place: named, tags: tagsFor(named.id) }],
  ["the name, on a store without tags", { ...proven, tags: undefined }],
  ["a readable name, on a store without tags", { ...proven, place: named, tags: undefined }],
  ["the UUID in the prefix, whatever the bucket's tags say", { ...proven, place: shared, tags: {} }],
])("proven by %s", ([, one]) => {
  expect(gapInProof(one)).toBeUndefined();
});

const foreign = placeFrom(`${own.id}/bucket/payroll`) ?? own;

it.for<readonly [string, PurgeCase, string]>([
  ["another PersistentVolume has it, too", { ...proven, others: ["copy"] }, "PersistentVolume copy"],
  ["the handle is of another PersistentVolume", { ...proven, volume: "thief" }, "not made for PersistentVolume thief"],
  ["so is a prefix", { ...proven, place: shared, volume: "thief" }, "not made for PersistentVolume thief"],
  ["a prefix without a PersistentVolume", { ...proven, place: shared, volume: undefined }, "no PersistentVolume"],
  ["no tags and no PersistentVolume", { ...proven, tags: undefined, volume: undefined }, "no PersistentVolume"],
  [
    "a bucket of another name, even if tagged",
    { ...proven, place: foreign, tags: tagsFor(foreign.id) },
    "not made for",
  ],
  ["a bucket of another name on a store without tags", { ...proven, place: foreign, tags: undefined }, "not made for"],
  ["tags that cannot be read", { ...proven, tags: "unreadable" }, "cannot be read"],
  ["no tags on the bucket", { ...proven, tags: {} }, "no tag s3.csi.scality.com/volume-id"],
  ["tags of another volume", { ...proven, tags: tagsFor("csi-s3-other") }, "no tag s3.csi.scality.com/volume-id"],
  ["tags without a cluster", { ...proven, tags: { "s3.csi.scality.com/volume-id": own.id } }, "names this cluster"],
  ["tags of another cluster", { ...proven, tags: tagsFor(own.id, "c-2") }, "names another cluster, c-2"],
  ["a cluster that may not be known", { ...proven, cluster: undefined }, "kube-system"],
])("not proven: %s", ([, one, because]) => {
  expect(gapInProof(one)?.because).toContain(because);
});

it("a suffix of another request's name proves nothing", () => {
  const wish: BucketWish = { kind: "named", prefix: "team" };
  const other = placeOf("pvc-other", wish);
  const crafted = placeFrom(`${own.id}/bucket/${other.bucket}`) ?? own;
  expect(gapInProof({ ...proven, place: crafted, tags: undefined })?.because).toContain("was not made for");
});
