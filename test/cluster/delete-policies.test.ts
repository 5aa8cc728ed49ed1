/** What becomes of a bucket that still holds something when its volume is deleted. */
import { CreateMultipartUploadCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, FaultyProvisioning } from "../support/faulty-provisioning.ts";

const cluster = openCluster();
const { s3 } = cluster;
let stage: FaultyProvisioning;
let faulty: FaultyProvisioning["faulty"];
let provisioner: FaultyProvisioning["provisioner"];
let request: FaultyProvisioning["request"];

beforeAll(async () => {
  stage = await FaultyProvisioning.start(cluster);
  ({ faulty, provisioner, request } = stage);
});

afterEach(() => stage.restore());

afterAll(() => stage[Symbol.asyncDispose]());

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

it("DS-3 a bucket that is kept is a metric with its name", async () => {
  await using counting = await stage.another({ flags: ["--health-port=0", "--metrics"] });
  const wanted = request();
  await counting.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket: bucketOf(wanted.name), Key: "a", Body: "a" }));
  await counting.controller.deleteVolume({ volumeId: bucketOf(wanted.name), secrets: {} });
  const [, port] = /"serving health","port":(\d+)/.exec(counting.log) ?? [];
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain(`s3_csi_kept_buckets_total{bucket="${bucketOf(wanted.name)}",because="notEmpty"} 1`);
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
