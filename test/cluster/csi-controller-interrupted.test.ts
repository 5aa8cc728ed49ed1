/** Interrupted calls: repeating them ends with one bucket for a created volume, and with none for a deleted one. */
import { CreateMultipartUploadCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import type { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

it("DS-4 killed at any step of CreateVolume: the next controller finds the bucket, tags it, and there is exactly one", async () => {
  const steps = await killedAtEachStep(async (attempt) => {
    const before = await bucketNames(s3);
    const wanted = request();
    await attempt((controller) => controller.createVolume(wanted));
    const { volume } = await provisioner.controller.createVolume(wanted);
    const now = await bucketNames(s3);
    expect(now.filter((bucket) => !before.includes(bucket))).toEqual([volume?.volumeId]);
    expect(await tagsOf(s3, bucketOf(wanted.name))).toMatchObject({ "s3.csi.scality.com/pv-name": wanted.name });
  });
  expect(steps).toEqual(["PUT", "PUT ?tagging"]);
});

it.for([
  ["delete-if-empty", "kept: notEmpty", ["PUT ?tagging"]],
  ["purge", "gone", ["POST ?delete", "DELETE ?uploadId", "DELETE"]],
] as const)(
  "DS-2, DS-3 killed at any step of DeleteVolume for a bucket with data, %s: in the end it is %s",
  async ([deletePolicy, fate, expected]) => {
    const steps = await killedAtEachStep(async (attempt) => {
      const wanted = request({ parameters: { deletePolicy } });
      const volumeId = bucketOf(wanted.name);
      await provisioner.controller.createVolume(wanted);
      await s3.send(new PutObjectCommand({ Bucket: volumeId, Key: "a", Body: "a" }));
      await s3.send(new CreateMultipartUploadCommand({ Bucket: volumeId, Key: "unfinished" }));
      await attempt((controller) => controller.deleteVolume({ volumeId, secrets: {} }));
      await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
      expect(await fateOf(volumeId)).toBe(fate);
    });
    expect(steps).toEqual(expected);
  },
);

it("DS-4 credentials that are revoked once the bucket is created: the provisioner has to repeat the call, and then finds it", async () => {
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

it("DS-4 a bucket that was created, and whose tags the store refuses to return, is deleted before the call fails for good", async () => {
  const wanted = request();
  faulty.break(/^GET .*tagging$/, { do: "answer", status: 400, code: "InvalidRequest" });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(await bucketNames(s3)).not.toContain(bucketOf(wanted.name));
});

async function fateOf(bucket: string): Promise<string> {
  if (!(await bucketNames(s3)).includes(bucket)) return "gone";
  return `kept: ${(await tagsOf(s3, bucket))["s3.csi.scality.com/kept"]}`;
}

type Controller = CsiControllerProcess["controller"];
type Attempt = (call: (controller: Controller) => Promise<unknown>) => Promise<void>;

/** A request that only reads leaves the store as it was. */
const step = /^(PUT|POST|DELETE) /;

/** Plays the scene to its end, then again with a controller that is killed when the store has done the first step of the call, and so on. */
async function killedAtEachStep(scene: (attempt: Attempt) => Promise<void>): Promise<readonly string[]> {
  const steps: string[] = [];
  await scene(async (call) => {
    faulty.restore();
    await call(provisioner.controller);
    steps.push(...faulty.lines.filter((line) => step.test(line)));
  });
  for (const done of steps.keys()) {
    await scene(async (call) => {
      await using doomed = await stage.another();
      const killed = Promise.withResolvers<void>();
      faulty.break(step, { do: "cutAfterwards", done: () => killed.resolve(doomed.kill()) }, 1, done);
      await expect(call(doomed.controller)).rejects.toMatchObject({ code: status.UNAVAILABLE });
      await killed.promise;
      faulty.restore();
    });
  }
  return steps.map((line) => line.replace(/ \/[^?]*/, " ").trim());
}
