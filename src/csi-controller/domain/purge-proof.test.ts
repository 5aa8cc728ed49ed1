import { expect, it } from "vitest";
import { type BucketOptions, locationFor, parseVolumeId } from "./bucket-location.ts";
import type { Tags } from "./bucket-tags.ts";
import { missingProof, type PurgeCase } from "./purge-proof.ts";

const name = "pvc-476e33c4-5a17-46ea-a9ca-80f9ee95fed6";
const own = locationFor(name, { kind: "own" });
const named = locationFor(name, { kind: "named", prefix: "team" });
const shared = locationFor(name, { kind: "shared", bucket: "common" });

function tagsFor(id: string, cluster: string | undefined = "c-1"): Tags {
  return { "s3.csi.scality.com/volume-id": id, ...(cluster && { "s3.csi.scality.com/cluster": cluster }) };
}

const proven: PurgeCase = { location: own, volume: name, others: [], tags: tagsFor(own.volumeId), cluster: "c-1" };

it.for<readonly [string, PurgeCase]>([
  ["tags, name and volume", proven],
  ["tags alone, when there is no PersistentVolume", { ...proven, volume: undefined }],
  ["a readable name", { ...proven, location: named, tags: tagsFor(named.volumeId) }],
  ["the name, on a store without tags", { ...proven, tags: undefined }],
  ["a readable name, on a store without tags", { ...proven, location: named, tags: undefined }],
  ["the UUID in the prefix, whatever the bucket's tags say", { ...proven, location: shared, tags: {} }],
])("proven by %s", ([, one]) => {
  expect(missingProof(one)).toBeUndefined();
});

const foreign = parseVolumeId(`${own.volumeId}/bucket/payroll`) ?? own;

it.for<readonly [string, PurgeCase, string]>([
  ["another PersistentVolume uses the same data", { ...proven, others: ["copy"] }, "PersistentVolume copy"],
  ["the handle of another PersistentVolume", { ...proven, volume: "thief" }, "not created for PersistentVolume thief"],
  [
    "the prefix of another PersistentVolume",
    { ...proven, location: shared, volume: "thief" },
    "not created for PersistentVolume thief",
  ],
  ["a prefix without a PersistentVolume", { ...proven, location: shared, volume: undefined }, "no PersistentVolume"],
  ["no tags and no PersistentVolume", { ...proven, tags: undefined, volume: undefined }, "no PersistentVolume"],
  [
    "a bucket of another name, even if tagged",
    { ...proven, location: foreign, tags: tagsFor(foreign.volumeId) },
    "not created for",
  ],
  [
    "a bucket of another name on a store without tags",
    { ...proven, location: foreign, tags: undefined },
    "not created for",
  ],
  ["tags that cannot be read", { ...proven, tags: "unreadable" }, "cannot read"],
  ["no tags on the bucket", { ...proven, tags: {} }, "no tag s3.csi.scality.com/volume-id"],
  ["tags of another volume", { ...proven, tags: tagsFor("csi-s3-other") }, "no tag s3.csi.scality.com/volume-id"],
  [
    "tags without a cluster",
    { ...proven, tags: { "s3.csi.scality.com/volume-id": own.volumeId } },
    "names this cluster",
  ],
  ["tags of another cluster", { ...proven, tags: tagsFor(own.volumeId, "c-2") }, "names another cluster, c-2"],
  ["a cluster whose UID the driver may not read", { ...proven, cluster: undefined }, "kube-system"],
])("not proven: %s", ([, one, reason]) => {
  expect(missingProof(one)?.reason).toContain(reason);
});

it("the name suffix of another request is no proof", () => {
  const options: BucketOptions = { kind: "named", prefix: "team" };
  const other = locationFor("pvc-other", options);
  const crafted = parseVolumeId(`${own.volumeId}/bucket/${other.bucket}`) ?? own;
  expect(missingProof({ ...proven, location: crafted, tags: undefined })?.reason).toContain("was not created for");
});
