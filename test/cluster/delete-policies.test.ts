/** What becomes of a bucket that still holds something when its volume is deleted. */
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { bucketNames, eventsAbout, keepVersions, patient, tagsOf } from "../support/claims.ts";
import { openCluster, versionsIn } from "../support/cluster.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import type { Fault } from "../support/faulty-s3.ts";
import { volumesKnownTo } from "../support/known-volumes.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

const deletionOfBucket = /^DELETE \/[^/]+\/?$/;

it("DS-3 without a PersistentVolume the policy is that on the bucket", async () => {
  const purge = request({ parameters: { deletePolicy: "purge" } });
  const plain = request();
  for (const wanted of [purge, plain]) {
    await provisioner.controller.createVolume(wanted);
    await s3.send(new PutObjectCommand({ Bucket: bucketOf(wanted.name), Key: "a", Body: "a" }));
    await provisioner.controller.deleteVolume({ volumeId: bucketOf(wanted.name), secrets: {} });
  }
  const left = await bucketNames(s3);
  expect(left).not.toContain(bucketOf(purge.name));
  expect(left).toContain(bucketOf(plain.name));
});

it("DS-3 a store that keeps a bucket for an unfinished upload: the bucket is kept, and the volume goes", async () => {
  const wanted = request();
  const volumeId = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  faulty.break(deletionOfBucket, { do: "answer", status: 409, code: "MPUinProgress" });
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await tagsOf(s3, volumeId)).toMatchObject({ "s3.csi.scality.com/kept": "notEmpty" });
});

const contents = {
  "an object": async (Bucket: string) => void (await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }))),
  "an old version": async (Bucket: string) => {
    await keepVersions(s3, Bucket);
    await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
    await s3.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
  },
  "an unfinished upload": async (Bucket: string) =>
    void (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: "a" }))),
} as const;

it.for(["an object", "an old version", "an unfinished upload"] as const)(
  "DS-11 a store that deletes buckets with data: a bucket with %s stays, the volume goes, and an event names the bucket",
  async (content) => {
    const wanted = request();
    const volumeHandle = bucketOf(wanted.name);
    await provisioner.controller.createVolume(wanted);
    await contents[content](volumeHandle);
    const before = await held(volumeHandle);
    const volume = { name: wanted.name, volumeHandle, attributes: { bucketName: volumeHandle } };
    await using _ = await volumesKnownTo(cluster, provisioner, volume);
    faulty.break(deletionOfBucket, { do: "passAfter", work: () => destroy(volumeHandle) });
    await provisioner.controller.deleteVolume({ volumeId: volumeHandle, secrets: {} });
    expect(await held(volumeHandle)).toEqual(before);
    await expect
      .poll(() => eventsAbout(cluster, wanted.name), patient)
      .toContainEqual(
        expect.objectContaining({ reason: "BucketKept", message: expect.stringContaining(volumeHandle) }),
      );
  },
);

it("DS-11 a store that deletes buckets with data: refuse-until-empty refuses all the same, and an empty bucket goes", async () => {
  const wanted = request({ parameters: { deletePolicy: "refuse-until-empty" } });
  const volumeId = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await contents["an object"](volumeId);
  faulty.break(deletionOfBucket, { do: "passAfter", work: () => destroy(volumeId) });
  await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  });
  expect(await held(volumeId)).toMatchObject({ objects: [{ key: "a" }] });
  await cluster.emptyBucket(volumeId);
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

it.for([/^GET .*list-type/, /^GET .*uploads/] as const)(
  "DS-11 an account that may not list what the bucket holds (%s) deletes nothing, and the right is named",
  async (listing) => {
    const wanted = request();
    const volumeId = bucketOf(wanted.name);
    await provisioner.controller.createVolume(wanted);
    faulty.break(listing, { do: "answer", status: 403, code: "AccessDenied" });
    await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringMatching(/\(s3:ListBucket(MultipartUploads)?\)/),
    });
    expect(await bucketNames(s3)).toContain(volumeId);
  },
);

const plainList =
  "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key></Contents></ListBucketResult>";

it.for<[string, RegExp, Fault]>([
  ["knows no list of versions", /versions/, { do: "answer", status: 501, code: "NotImplemented" }],
  ["knows no list of uploads", /uploads/, { do: "answer", status: 501, code: "NotImplemented" }],
  ["refuses the list of versions", /versions/, { do: "answer", status: 400, code: "InvalidArgument" }],
  ["refuses the list of uploads", /uploads/, { do: "answer", status: 400, code: "InvalidArgument" }],
  ["does not let the account list versions", /versions/, { do: "answer", status: 403, code: "AccessDenied" }],
  ["lists objects instead of versions", /versions/, { do: "passAltered", alter: () => plainList }],
  ["lists objects instead of uploads", /uploads/, { do: "passAltered", alter: () => plainList }],
])("DS-11 a store that %s: what it lists otherwise decides", async ([, unknown, fault]) => {
  const wanted = request();
  const volumeId = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await contents["an object"](volumeId);
  faulty.break(unknown, fault);
  faulty.break(deletionOfBucket, { do: "passAfter", work: () => destroy(volumeId) });
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await held(volumeId)).toMatchObject({ objects: [{ key: "a" }] });
  await cluster.emptyBucket(volumeId);
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

it("DS-3 purge ends unfinished uploads before it asks for the deletion of the bucket", async () => {
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  const volumeId = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new CreateMultipartUploadCommand({ Bucket: volumeId, Key: "unfinished" }));
  faulty.restore();
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  const deletions = faulty.lines.filter((line) => line.startsWith("DELETE "));
  expect(deletions).toEqual([`DELETE /${volumeId}/unfinished?uploadId`, expect.stringMatching(deletionOfBucket)]);
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

it("DS-3 a bucket that is kept is counted, without its name as a label", async () => {
  await using counting = await stage.another({ flags: ["--health-port=0", "--metrics"] });
  const wanted = request();
  await counting.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket: bucketOf(wanted.name), Key: "a", Body: "a" }));
  await counting.controller.deleteVolume({ volumeId: bucketOf(wanted.name), secrets: {} });
  const [, port] = /"serving health","port":(\d+)/.exec(counting.log) ?? [];
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain('s3_csi_kept_buckets_total{because="notEmpty"} 1');
});

it("DS-3 purging goes on where it was stopped", async () => {
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  const volumeId = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  const keys = Array.from({ length: 5 }, (_, index) => `dir/${index}`);
  for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket: volumeId, Key, Body: "a" }));
  faulty.break(/^POST .*delete$/, { do: "cutAfterwards" });
  await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
  faulty.restore();
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

async function held(Bucket: string) {
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  return { objects: await versionsIn(s3, Bucket), uploads: Uploads.map(({ Key }) => Key) };
}

/** As a store does that deletes a bucket with everything in it. */
async function destroy(Bucket: string): Promise<void> {
  await cluster.emptyBucket(Bucket);
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  for (const { Key, UploadId } of Uploads) await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
}
