/** deletePolicy purge on a store that keeps versions: everything goes, in pages, and whoever is killed is followed by somebody who goes on. */
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { s3Endpoint } from "../../lab/s3.ts";
import { bucketNames, keepVersions } from "../support/claims.ts";
import { openCluster, versionsIn } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { FaultyS3 } from "../support/faulty-s3.ts";

const cluster = openCluster();
const { s3 } = cluster;
/** A thousand removals take the store longer than tests usually wait. */
const flags = ["--s3-answer-seconds=60"];
let faulty: FaultyS3;

beforeAll(async () => {
  faulty = await FaultyS3.before(s3Endpoint);
});

afterAll(async () => {
  await faulty[Symbol.asyncDispose]();
});

it("DS-3 purge removes versions, marks of deletions and unfinished uploads, in pages; killed after the first, the next one goes on", async () => {
  await using first = await CsiControllerProcess.start(cluster, { s3: faulty.url, flags });
  const request = createRequest({ parameters: { deletePolicy: "purge" } });
  const { volume } = await first.controller.createVolume(request);
  const bucket = volume?.volumeId ?? "";
  await keepVersions(s3, bucket);
  // S3 lists and removes a thousand at a time.
  const keys = Array.from({ length: 1_001 }, (_, index) => `dir/${index}`);
  await inTurns(keys, (Key) => s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "a" })));
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "dir/0", Body: "b" }));
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: "dir/0" }));
  for (const Key of ["unfinished", "other"]) await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
  const before = await left(bucket);
  expect(before).toMatchObject({ marks: 1, uploads: 2 });
  expect(before.entries).toBeGreaterThan(1_002);

  const killed = Promise.withResolvers<void>();
  faulty.break(/^POST .*delete$/, { do: "cutAfterwards", done: () => killed.resolve(first.kill()) }, 1);
  const call = first.controller.deleteVolume({ volumeId: bucket, secrets: {} });
  await expect(call).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await killed.promise;
  const after = await left(bucket);
  expect(after.uploads).toBe(2);
  expect(after.entries).toBeGreaterThan(0);
  expect(after.entries).toBeLessThan(before.entries);

  await using second = await CsiControllerProcess.start(cluster, { s3: faulty.url, flags });
  await second.controller.deleteVolume({ volumeId: bucket, secrets: {} });
  expect(await bucketNames(s3)).not.toContain(bucket);
});

/** What the bucket still holds. */
async function left(Bucket: string) {
  const entries = await versionsIn(s3, Bucket);
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  return { entries: entries.length, marks: entries.filter(({ isMark }) => isMark).length, uploads: Uploads.length };
}

/** Several at a time, but not all. */
async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}
