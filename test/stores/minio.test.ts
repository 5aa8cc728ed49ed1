/** The CSI controller service on MinIO, whose answers on owners, keys and rights differ from those of the lab's store. */
import { randomUUID } from "node:crypto";
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bucketNames, keepVersions, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { bucketOf } from "../support/faulty-provisioning.ts";
import { volumesKnownTo } from "../support/known-volumes.ts";
import { Minio } from "../support/minio.ts";

const cluster = openCluster();
let minio: Minio;
let provisioner: CsiControllerProcess;

beforeAll(async () => {
  minio = await Minio.start();
  provisioner = await CsiControllerProcess.start(cluster, { s3: minio.url });
});

afterAll(async () => {
  await provisioner[Symbol.asyncDispose]();
  await minio[Symbol.asyncDispose]();
});

const allow = (...Action: readonly string[]) => ({ Effect: "Allow", Action, Resource: ["arn:aws:s3:::*"] }) as const;
const deny = (...Action: readonly string[]) => ({ Effect: "Deny", Action, Resource: ["arn:aws:s3:::*"] }) as const;

it.for([
  ["may not list it", [allow("s3:CreateBucket", "s3:GetBucketTagging", "s3:PutBucketTagging")], "s3:ListBucket"],
  ["may do everything with it", [allow("s3:*")], "holds data"],
] as const)(
  "DS-5 a bucket of another user, which MinIO calls owned by this one, who %s: it is not adopted",
  async ([, rights, reason]) => {
    const account = await minio.user(...rights);
    await using own = await CsiControllerProcess.start(cluster, { s3: minio.url, account });
    const s3 = minio.client();
    const wanted = createRequest();
    const Bucket = bucketOf(wanted.name);
    await s3.send(new CreateBucketCommand({ Bucket }));
    await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
    // What this test is about: another store would answer BucketAlreadyExists.
    await expect(minio.client(account).send(new CreateBucketCommand({ Bucket }))).rejects.toMatchObject({
      name: "BucketAlreadyOwnedByYou",
    });
    await expect(own.controller.createVolume(wanted)).rejects.toMatchObject({
      code: status.ALREADY_EXISTS,
      details: expect.stringContaining(reason),
    });
    await expect(tagsOf(s3, Bucket)).rejects.toMatchObject({ name: "NoSuchTagSet" });
  },
);

it("PR-12 every key that MinIO stores is purged, and unfinished uploads, versions and delete markers with them", async () => {
  const s3 = minio.client();
  const Bucket = await purgeVolume();
  await keepVersions(s3, Bucket);
  for (const Key of ["plain", "a\u0001b", "dir/\u000bc", "d\ufffe", "two words", "a+b", "50%", "%41"]) {
    await s3.send(new PutObjectCommand({ Bucket, Key, Body: "a" }));
    await s3.send(new PutObjectCommand({ Bucket, Key, Body: "b" }));
  }
  await s3.send(new DeleteObjectCommand({ Bucket, Key: "dir/\u000bc" }));
  await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: "unfinished\u000b" }));
  await provisioner.controller.deleteVolume({ volumeId: Bucket, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(Bucket);
});

it("DS-12 tags that the user may not read prove nothing: nothing is purged, and the right is named", async () => {
  const s3 = minio.client();
  const name = `pvc-${randomUUID()}`;
  const Bucket = await purgeVolume(name);
  await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
  const account = await minio.user(allow("s3:*"), deny("s3:GetBucketTagging"));
  await using own = await CsiControllerProcess.start(cluster, { s3: minio.url, account });
  const volume = { name, volumeHandle: Bucket, attributes: { bucketName: Bucket, deletePolicy: "purge" } };
  await using _ = await volumesKnownTo(cluster, own, volume);
  await expect(own.controller.deleteVolume({ volumeId: Bucket, secrets: {} })).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
    details: expect.stringContaining("s3:GetBucketTagging"),
  });
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  expect(Contents.map(({ Key }) => Key)).toEqual(["a"]);
});

it("DS-11 a bucket that holds nothing but an unfinished upload holds data, and only purge removes it", async () => {
  const s3 = minio.client();
  const wanted = createRequest({ parameters: { deletePolicy: "refuse-until-empty" } });
  const Bucket = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: "unfinished" }));
  await expect(provisioner.controller.deleteVolume({ volumeId: Bucket, secrets: {} })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
  });
  expect(await bucketNames(s3)).toContain(Bucket);
});

async function purgeVolume(name = `pvc-${randomUUID()}`): Promise<string> {
  await provisioner.controller.createVolume(createRequest({ name, parameters: { deletePolicy: "purge" } }));
  return bucketOf(name);
}
