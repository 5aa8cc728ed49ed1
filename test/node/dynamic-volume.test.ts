/** What a user with a StorageClass sees: a claim becomes a bucket, and what becomes of it when the claim goes. */
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bucketNames, Claims, eventsAbout, keepVersions, patient } from "../support/claims.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";

const cluster = openCluster();
const { s3 } = cluster;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("a claim becomes a bucket that a Pod writes to, with the names and attributes of 2.x, and goes with the claim", {
  tags: ["smoke"],
}, async () => {
  await using claims = await Claims.ofClass(sandbox, { mountOptions: ["allow-delete"] });
  const volume = await claims.volume("data", { storage: "5Gi" });
  const { volumeHandle, volumeAttributes } = volume.spec.csi;
  expect(volumeHandle).toMatch(/^csi-s3-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(volumeAttributes).toMatchObject({
    bucketName: volumeHandle,
    authenticationSource: "driver",
    dynamicProvisioning: "true",
  });
  expect(volume.spec.capacity.storage).toBe("5Gi");
  const pod = await sandbox.pod("writer", { claim: "data" });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/a.txt");
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: volumeHandle, Key: "a.txt" }));
  expect(await Body?.transformToString()).toBe("hello\n");
  await cluster.exec(pod, "rm /data/a.txt");
  await cluster.deletePod(pod);

  await claims.deleteVolume("data", volume);

  expect(await bucketNames(s3)).not.toContain(volumeHandle);
});

it("DS-3 by default a bucket with data is kept, with a Warning that names it, and the volume goes", async () => {
  await using claims = await Claims.ofClass(sandbox);
  const volume = await claims.volume("kept");
  const bucket = volume.spec.csi.volumeHandle;
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a.txt", Body: "a" }));
  const before = await bucketNames(s3);

  await claims.deleteVolume("kept", volume);

  expect(await bucketNames(s3)).toEqual(before);
  expect((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(1);
  const kept = { type: "Warning", reason: "BucketKept", message: expect.stringContaining(bucket) };
  await expect
    .poll(() => eventsAbout(cluster, volume.metadata.name), patient)
    .toContainEqual(expect.objectContaining(kept));
});

it("DS-3 refuse-until-empty keeps volume and bucket while there is data, and deletes both when there is none", async () => {
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "refuse-until-empty" } });
  const volume = await claims.volume("refused");
  const bucket = volume.spec.csi.volumeHandle;
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a.txt", Body: "a" }));
  await claims.deleteClaim("refused");
  await expect
    .poll(() => eventsAbout(cluster, volume.metadata.name), patient)
    .toContainEqual(
      expect.objectContaining({ reason: "VolumeFailedDelete", message: expect.stringContaining("still holds data") }),
    );
  expect(await bucketNames(s3)).toContain(bucket);

  await cluster.emptyBucket(bucket);
  await cluster.kubectl("wait", "--for=delete", `pv/${volume.metadata.name}`, "--timeout=240s");
  expect(await bucketNames(s3)).not.toContain(bucket);
});

it("DS-3 purge removes objects with all their versions, unfinished uploads and the bucket", async () => {
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "purge" } });
  const volume = await claims.volume("purged");
  const bucket = volume.spec.csi.volumeHandle;
  await keepVersions(s3, bucket);
  await Promise.all(
    ["a.txt", "a.txt", "b.txt", "dir/b.txt", "dir/deep/c d+e.txt"].map((Key) =>
      s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "x" })),
    ),
  );
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: "b.txt" }));
  await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: "unfinished" }));
  expect((await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads).toHaveLength(1);

  await claims.deleteVolume("purged", volume);

  expect(await bucketNames(s3)).not.toContain(bucket);
});

it("DS-3 retain keeps the bucket, empty or not", async () => {
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "retain" } });
  const volume = await claims.volume("retained");
  const bucket = volume.spec.csi.volumeHandle;
  await claims.deleteVolume("retained", volume);
  expect(await bucketNames(s3)).toContain(bucket);
  const retained = { reason: "BucketRetained", message: expect.stringContaining(bucket) };
  await expect
    .poll(() => eventsAbout(cluster, volume.metadata.name), patient)
    .toContainEqual(expect.objectContaining(retained));
});
