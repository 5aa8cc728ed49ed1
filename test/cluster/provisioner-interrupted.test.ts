/** Calls that do not come to their end: whoever repeats them ends with one bucket for a volume that is made, and none for one that is deleted. */
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

it("DS-4 killed after the bucket was made: the next controller finds it, marks it, and there is exactly one", async () => {
  const before = await bucketNames(s3);
  const wanted = request();
  await using first = await stage.another();
  const killed = Promise.withResolvers<void>();
  faulty.break(/^PUT \/csi-s3-[^?]*$/, { do: "cutAfterwards", done: () => killed.resolve(first.kill()) }, 1);
  await expect(first.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await killed.promise;
  expect(await bucketNames(s3)).toContain(bucketOf(wanted.name));

  const { volume } = await provisioner.controller.createVolume(wanted);

  const now = await bucketNames(s3);
  expect(now.filter((bucket) => !before.includes(bucket))).toEqual([volume?.volumeId]);
  expect(await tagsOf(s3, bucketOf(wanted.name))).toMatchObject({ "s3.csi.scality.com/pv-name": wanted.name });
});

it("DS-4 keys that are revoked once the bucket is made: the provisioner is told to come back, and then finds it", async () => {
  const wanted = request();
  const revoked = { do: "answer", status: 403, code: "InvalidAccessKeyId" } as const;
  faulty.break(/^GET .*tagging$/, revoked);
  faulty.break(/^DELETE /, revoked);
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringContaining("InvalidAccessKeyId"),
  });
  expect(await bucketNames(s3)).toContain(bucketOf(wanted.name));
  faulty.restore();
  await expect(provisioner.controller.createVolume(wanted)).resolves.toMatchObject({ volume: {} });
});

it("DS-4 a bucket that was made, and whose tags the store refuses to tell, is taken back before the call fails for good", async () => {
  const wanted = request();
  faulty.break(/^GET .*tagging$/, { do: "answer", status: 400, code: "InvalidRequest" });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(await bucketNames(s3)).not.toContain(bucketOf(wanted.name));
});
