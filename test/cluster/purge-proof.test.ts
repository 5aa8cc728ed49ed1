/** deletePolicy purge removes data only where tags, names and PersistentVolumes prove whose it is. */
import { randomBytes, randomUUID } from "node:crypto";
import { ListObjectsV2Command, PutBucketTaggingCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import { type VolumeWithHandle, volumesKnownTo } from "../support/known-volumes.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

const tag = (name: string) => `s3.csi.scality.com/${name}`;
const tagging = /^GET .*\?tagging$/;
const noRight = { do: "answer", status: 403, code: "AccessDenied" } as const;
const noTags = { do: "answer", status: 501, code: "NotImplemented" } as const;

it("DS-12 a restored cluster, whose UID the tags do not name, purges nothing; with the tags of this one it does", async () => {
  const volume = await purgeVolumeWithData();
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  const tags = await tagsOf(s3, volume.volumeHandle);
  await setTags(volume.volumeHandle, { ...tags, [tag("cluster")]: randomUUID() });
  await expect(deleted(volume)).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringMatching(/tag s3\.csi\.scality\.com\/cluster names another cluster/),
  });
  expect(await keysIn(volume.volumeHandle)).toEqual(["a"]);

  await setTags(volume.volumeHandle, tags);
  await deleted(volume);
  expect(await bucketNames(s3)).not.toContain(volume.volumeHandle);
});

it.for([
  ["the same handle", (volume: VolumeWithHandle) => volume.volumeHandle],
  ["the same bucket", () => `static-${randomUUID()}`],
] as const)("DS-12 while another PersistentVolume has %s, nothing is purged", async ([, handleFor]) => {
  const volume = await purgeVolumeWithData();
  const copy = { ...volume, name: `copy-${randomUUID()}`, volumeHandle: handleFor(volume) };
  {
    await using _ = await volumesKnownTo(cluster, provisioner, volume, copy);
    await expect(deleted(volume)).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining(`PersistentVolume ${copy.name}`),
    });
  }
  expect(await keysIn(volume.volumeHandle)).toEqual(["a"]);
});

it("DS-12 a handle that belongs to another PersistentVolume purges nothing", async () => {
  const volume = await purgeVolumeWithData();
  const thief = { ...volume, name: `copy-${randomUUID()}` };
  await using _ = await volumesKnownTo(cluster, provisioner, thief);
  await expect(deleted(thief)).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringContaining(`was not created for PersistentVolume ${thief.name}`),
  });
  expect(await keysIn(volume.volumeHandle)).toEqual(["a"]);
});

it.for([
  ["without tags of the driver", undefined],
  ["on a store that keeps no tags", noTags],
] as const)("DS-12 a handle that names a foreign bucket %s purges nothing", async ([, fault]) => {
  const name = `pvc-${randomUUID()}`;
  const bucket = await bucketOfPeople();
  const handle = `${locationFor(name, { kind: "own" }).volumeId}/bucket/${bucket}`;
  const crafted = purgeVolume(name, handle, bucket);
  await using _ = await volumesKnownTo(cluster, provisioner, crafted);
  if (fault !== undefined) faulty.break(/tagging$/, fault);
  await expect(deleted(crafted)).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringContaining("was not created for PersistentVolume"),
  });
  expect(await keysIn(bucket)).toEqual(["a"]);
});

it("DS-12 a prefix is purged for the PersistentVolume whose UUID it holds, and for no other", async () => {
  const bucket = await bucketOfPeople();
  const victim = placedIn(bucket);
  const thief = { ...victim, name: `copy-${randomUUID()}` };
  const prefix = victim.attributes.prefix;
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: `${prefix}b`, Body: "b" }));
  {
    await using _ = await volumesKnownTo(cluster, provisioner, thief);
    await expect(deleted(thief)).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining(`was not created for PersistentVolume ${thief.name}`),
    });
    expect(await keysIn(bucket)).toEqual(["a", `${prefix}b`]);
  }
  {
    const reader = { name: `reader-${randomUUID()}`, volumeHandle: randomUUID(), attributes: victim.attributes };
    await using _ = await volumesKnownTo(cluster, provisioner, victim, reader);
    await expect(deleted(victim)).rejects.toMatchObject({ details: expect.stringContaining(reader.name) });
    expect(await keysIn(bucket)).toEqual(["a", `${prefix}b`]);
  }
  const neighbour = placedIn(bucket);
  await using _ = await volumesKnownTo(cluster, provisioner, victim, neighbour);
  await deleted(victim);
  expect(await keysIn(bucket)).toEqual(["a"]);
});

it("DS-12 tags that the account may not read prove nothing: nothing is purged, and the right is named", async () => {
  const volume = await purgeVolumeWithData();
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  faulty.break(tagging, noRight);
  await expect(deleted(volume)).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringContaining("s3:GetBucketTagging"),
  });
  expect(await keysIn(volume.volumeHandle)).toEqual(["a"]);
});

it("DS-12 a purge volume of an earlier version, without tags: with data it stays until it has tags, or is empty", async () => {
  const tagged = await untaggedVolume();
  const emptied = await untaggedVolume();
  await using _ = await volumesKnownTo(cluster, provisioner, tagged, emptied);
  for (const volume of [tagged, emptied]) {
    await s3.send(new PutObjectCommand({ Bucket: volume.volumeHandle, Key: "a", Body: "a" }));
    await expect(deleted(volume)).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringMatching(/no tag s3\.csi\.scality\.com\/volume-id.*set the tags/),
    });
    expect(await keysIn(volume.volumeHandle)).toEqual(["a"]);
  }
  const { metadata } = (await cluster.get("namespace", "kube-system")) ?? {};
  await setTags(tagged.volumeHandle, {
    [tag("volume-id")]: tagged.volumeHandle,
    [tag("cluster")]: metadata?.uid ?? "",
  });
  await cluster.emptyBucket(emptied.volumeHandle);
  for (const volume of [tagged, emptied]) {
    await deleted(volume);
    expect(await bucketNames(s3)).not.toContain(volume.volumeHandle);
  }
});

it.for([
  ["has no tags", undefined],
  ["has tags that the account may not read", noRight],
  ["is on a store that keeps no tags", noTags],
  ["is on a store that refuses the request", { do: "answer", status: 400, code: "InvalidRequest" }],
] as const)("DS-12 the bucket of a volume of 2.x %s: kept with data, deleted without", async ([, fault]) => {
  const volumeHandle = `csi-s3-${randomUUID()}`;
  stage.made.push(volumeHandle);
  await cluster.makeBucket(volumeHandle);
  await s3.send(new PutObjectCommand({ Bucket: volumeHandle, Key: "a", Body: "a" }));
  const name = `pvc-${randomUUID()}`;
  const volume = { name, volumeHandle, attributes: { bucketName: volumeHandle, dynamicProvisioning: "true" } };
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  if (fault !== undefined) faulty.break(/tagging$/, fault);
  await deleted(volume);
  expect(await keysIn(volumeHandle)).toEqual(["a"]);
  await cluster.emptyBucket(volumeHandle);
  await deleted(volume);
  expect(await bucketNames(s3)).not.toContain(volumeHandle);
});

it("DS-12 on a store that keeps no tags the names prove whose the bucket is", async () => {
  faulty.break(/tagging$/, noTags);
  const volume = await purgeVolumeWithData();
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  await deleted(volume);
  expect(await bucketNames(s3)).not.toContain(volume.volumeHandle);
});

it.for([
  ["purge", "retain"],
  ["purge", "delete-if-empty"],
  ["delete-if-empty", "purge"],
  ["delete-if-empty", "retain"],
] as const)("DS-12 the volume says %s and the bucket %s: the stricter one wins", async ([onVolume, onBucket]) => {
  const wanted = request({ parameters: { deletePolicy: onBucket } });
  const { name } = wanted;
  const bucket = bucketOf(name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "a" }));
  const volume = { ...purgeVolume(name, bucket, bucket), attributes: { bucketName: bucket, deletePolicy: onVolume } };
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  await deleted(volume);
  expect(await keysIn(bucket)).toEqual(["a"]);
  const kept = onBucket === "retain" ? "policy" : "notEmpty";
  expect(await tagsOf(s3, bucket)).toMatchObject({ [tag("kept")]: kept });
});

it("DS-12 a claim of a purge class is refused where the account may not tag, because it could never be purged; without purge it is served", async () => {
  faulty.break(/^PUT .*\?tagging$/, noRight);
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringMatching(/deletePolicy.*purge.*s3:PutBucketTagging/),
  });
  expect(await bucketNames(s3)).not.toContain(bucketOf(wanted.name));
  await expect(provisioner.controller.createVolume(request())).resolves.toMatchObject({ volume: {} });
});

async function deleted({ volumeHandle }: VolumeWithHandle): Promise<unknown> {
  return await provisioner.controller.deleteVolume({ volumeId: volumeHandle, secrets: {} });
}

function purgeVolume(name: string, volumeHandle: string, bucketName: string): VolumeWithHandle {
  return { name, volumeHandle, attributes: { bucketName, deletePolicy: "purge" } };
}

/** As the driver makes it, with one object. */
async function purgeVolumeWithData(): Promise<VolumeWithHandle> {
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  const bucket = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "a" }));
  return purgeVolume(wanted.name, bucket, bucket);
}

/** As an earlier version made it with an account that may not tag. */
async function untaggedVolume(): Promise<VolumeWithHandle> {
  const { name } = request();
  const bucket = bucketOf(name);
  await cluster.makeBucket(bucket);
  return purgeVolume(name, bucket, bucket);
}

function placedIn(bucket: string) {
  const name = `pvc-${randomUUID()}`;
  const { volumeId, prefix = "" } = locationFor(name, { kind: "shared", bucket });
  return { name, volumeHandle: volumeId, attributes: { bucketName: bucket, prefix, deletePolicy: "purge" } };
}

/** With one object, and nothing to do with volumes. */
async function bucketOfPeople(): Promise<string> {
  const bucket = `t-${randomBytes(4).toString("hex")}`;
  stage.made.push(bucket);
  await cluster.makeBucket(bucket);
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "a" }));
  return bucket;
}

async function setTags(Bucket: string, tags: Readonly<Record<string, string>>): Promise<void> {
  const TagSet = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  await s3.send(new PutBucketTaggingCommand({ Bucket, Tagging: { TagSet } }));
}

async function keysIn(Bucket: string): Promise<readonly (string | undefined)[]> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  return Contents.map(({ Key }) => Key);
}
