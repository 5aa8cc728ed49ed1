/** What mount-s3 can write, purge can remove: keys that XML cannot carry, and many unfinished uploads beside other work. */
import { randomBytes, randomUUID } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { bucketNames } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import { inParallel } from "../support/in-parallel.ts";
import { volumesKnownTo } from "../support/known-volumes.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const { s3 } = cluster;
const uploadsWanted = scaled("unfinished uploads", 100, 1_000);
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

const endOfUpload = /^DELETE .*\?uploadId$/;

const difficultKeys = ["plain", "a\u0001b", "dir/\u000bc", "d\ufffe", "two words", "a+b", "50%", "%41"];

it.for([
  ["encodes keys, as most stores do", encoded],
  ["does not encode keys, as the lab's", (text: string) => text],
] as const)("PR-12 a store that %s: every key is purged", async ([, answering]) => {
  const volumeId = await purgeVolume();
  await using _ = await objects(volumeId, difficultKeys);
  const upload = { Bucket: volumeId, Key: "unfinished\u000b" };
  await s3.send(new CreateMultipartUploadCommand(upload));
  faulty.break(/^GET .*encoding-type/, { do: "passAltered", alter: answering });
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

it("PR-12 an object that a store lists outside of the prefix that was asked for is not removed", async () => {
  const bucket = await sharedBucket();
  const { volumeId, prefix = "", name } = placedIn(bucket);
  for (const Key of ["of-others", `${prefix}a`])
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "a" }));
  const attributes = { bucketName: bucket, prefix, deletePolicy: "purge" };
  await using _ = await volumesKnownTo(cluster, provisioner, { name, volumeHandle: volumeId, attributes });
  const ignoring = (text: string) => text.replaceAll(`<Key>${prefix}a</Key>`, "<Key>of-others</Key>");
  faulty.break(/^GET .*versions/, { do: "passAltered", alter: ignoring });
  const refused = provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  await expect(refused).rejects.toMatchObject({ details: expect.stringContaining("of-others") });
  await expect(refused).rejects.toThrow(failurePattern("prefixIgnored"));
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }));
  expect(Contents.map(({ Key }) => Key)).toContain("of-others");
});

it("PR-12 an unfinished upload below the prefix of a volume is data: refuse-until-empty waits for its end", async () => {
  const bucket = await sharedBucket();
  const { volumeId, prefix = "", name } = placedIn(bucket);
  const attributes = { bucketName: bucket, prefix, deletePolicy: "refuse-until-empty" };
  await using _ = await volumesKnownTo(cluster, provisioner, { name, volumeHandle: volumeId, attributes });
  const upload = { Bucket: bucket, Key: `${prefix}unfinished` };
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(upload));
  await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: "of-others" }));
  await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
    code: status.FAILED_PRECONDITION,
    details: expect.stringContaining("still holds data"),
  });
  await s3.send(new AbortMultipartUploadCommand({ ...upload, UploadId }));
  await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
});

it(`PR-12 ${uploadsWanted} unfinished uploads on a slow store leave room for a CreateVolume`, async () => {
  await using patient = await stage.another({ flags: ["--s3-answer-seconds=20"] });
  const volumeId = await purgeVolume();
  await leaveUploads(volumeId);
  const released = Promise.withResolvers<void>();
  faulty.break(endOfUpload, { do: "passAfter", work: () => released.promise });
  const purging = patient.controller.deleteVolume({ volumeId, secrets: {} });
  await expect.poll(() => ended().length).toBeGreaterThan(0);
  await expect(patient.controller.createVolume(request())).resolves.toMatchObject({ volume: {} });
  released.resolve();
  await purging;
  expect(await bucketNames(s3)).not.toContain(volumeId);
});

it("PR-12 when one unfinished upload cannot be ended, nothing is sent after the answer", async () => {
  const volumeId = await purgeVolume();
  await leaveUploads(volumeId);
  faulty.break(endOfUpload, { do: "answer", status: 403, code: "AccessDenied" }, 1);
  await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
  });
  const sent = ended().length;
  await provisioner.controller.createVolume(request());
  expect(ended()).toHaveLength(sent);
  expect(sent).toBeLessThan(uploadsWanted);
});

function ended(): readonly string[] {
  return faulty.lines.filter((line) => endOfUpload.test(line));
}

async function purgeVolume(): Promise<string> {
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  await provisioner.controller.createVolume(wanted);
  return bucketOf(wanted.name);
}

/** Removed in the end by their keys, if the test has not: the lab's store does not list all of them by their names. */
async function objects(Bucket: string, keys: readonly string[]): Promise<AsyncDisposable> {
  for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket, Key, Body: "a" }));
  return {
    [Symbol.asyncDispose]: async () => {
      if (!(await bucketNames(s3)).includes(Bucket)) return;
      for (const Key of keys) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
    },
  };
}

async function leaveUploads(Bucket: string): Promise<void> {
  const keys = Array.from({ length: uploadsWanted }, (_, index) => `dir/${index}`);
  await inParallel(keys, (Key) => s3.send(new CreateMultipartUploadCommand({ Bucket, Key })), 2);
}

async function sharedBucket(): Promise<string> {
  const bucket = `t-${randomBytes(4).toString("hex")}`;
  stage.made.push(bucket);
  await cluster.makeBucket(bucket);
  return bucket;
}

function placedIn(bucket: string) {
  const name = `pvc-${randomUUID()}`;
  return { name, ...locationFor(name, { kind: "shared", bucket }) };
}

/**
 * The lab's store lists U+FFFD for a character that XML cannot carry, and knows no encoding. Others answer a request with
 * encoding-type=url as this does: keys in the manner of a form, and an element that says so.
 */
function encoded(text: string): string {
  return text
    .replaceAll(/<Key>([^<]*)<\/Key>/g, (_, key: string) => {
      const real = [...difficultKeys, "unfinished\u000b"].find((each) => listed(each) === key) ?? key;
      return `<Key>${encodeURIComponent(real).replaceAll("%20", "+").replaceAll("%2F", "/")}</Key>`;
    })
    .replaceAll(/<EncodingType>[^<]*<\/EncodingType>/g, "")
    .replace("<IsTruncated>", "<EncodingType>url</EncodingType><IsTruncated>");
}

function listed(key: string): string {
  return key.replaceAll(/[\p{Cc}\ufffe]/gu, "\ufffd");
}
