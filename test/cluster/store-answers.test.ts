/** Answers of object stores that are not what they seem: buckets of others that are called ours, and texts with credentials. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import type { Fault } from "../support/faulty-s3.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

const alreadyOurs = { do: "answer", status: 409, code: "BucketAlreadyOwnedByYou" } as const satisfies Fault;

it("DS-5 a store that calls a bucket of another account ours, as MinIO does: it is neither adopted nor touched", async () => {
  await using tenants = await stage.another({ account: tenantAccount });
  const wanted = request();
  await cluster.makeBucket(bucketOf(wanted.name));
  faulty.break(/^PUT \/csi-s3-[^?]*$/, alreadyOurs);
  await expect(tenants.controller.createVolume(wanted)).rejects.toMatchObject({
    code: status.ALREADY_EXISTS,
    details: expect.stringContaining(bucketOf(wanted.name)),
  });
  await expect(tagsOf(s3, bucketOf(wanted.name))).rejects.toMatchObject({ name: "NoSuchTagSet" });
});

it("DS-5 a bucket that was there before, without tags of the driver, is adopted only if it is empty", async () => {
  const wanted = request();
  const Bucket = bucketOf(wanted.name);
  await cluster.makeBucket(Bucket);
  await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
  faulty.break(/^PUT \/csi-s3-[^?]*$/, alreadyOurs);
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({
    code: status.ALREADY_EXISTS,
    details: expect.stringContaining("holds data"),
  });
  await expect(tagsOf(s3, Bucket)).rejects.toMatchObject({ name: "NoSuchTagSet" });
  await cluster.emptyBucket(Bucket);
  await expect(provisioner.controller.createVolume(wanted)).resolves.toMatchObject({ volume: { volumeId: Bucket } });
});

it("DS-4 a bucket that the store does not show right after its creation: the provisioner has to repeat the call, and the bucket stays", async () => {
  const wanted = request();
  faulty.break(/^GET .*tagging$/, { do: "answer", status: 404, code: "NoSuchBucket" });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  expect(await bucketNames(s3)).toContain(bucketOf(wanted.name));
  faulty.restore();
  await expect(provisioner.controller.createVolume(wanted)).resolves.toMatchObject({ volume: {} });
});

it.for([
  ["ServiceUnavailable", "UNAVAILABLE"],
  ["InternalError", "UNAVAILABLE"],
  ["AccessDenied", "PERMISSION_DENIED"],
] as const)("PR-1 purge, and the store answers %s for one object → %s", async ([objectCode, code]) => {
  const volumeId = await purgeVolumeWithObject();
  faulty.break(/^POST .*delete$/, refusedObject(objectCode, "injected"));
  await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
    code: status[code],
    details: expect.stringContaining(objectCode),
  });
});

it("SE-4 a store that names keys in its errors: they are in no answer, which becomes an event, and in no log", async () => {
  const { accessKeyId } = rootAccount;
  const foreign = ["AKIAIOSFODNN7EXAMPLE", "GK31c2f218a2e44f485b94239e"];
  const message = `No such key: ${accessKeyId}, nor ${foreign.join(" or ")}`;
  await using own = await stage.another();
  const volumeId = await purgeVolumeWithObject();
  faulty.break(/^PUT /, { do: "answer", status: 403, code: "AccessDenied", message });
  faulty.break(/^POST .*delete$/, refusedObject("AccessDenied", message));
  const answers = await Promise.allSettled([
    own.controller.createVolume(request()),
    own.controller.deleteVolume({ volumeId, secrets: {} }),
  ]);
  for (const answer of answers) {
    const { details = "" } = answer.status === "rejected" ? (answer.reason as { details?: string }) : {};
    expect(details).toContain("No such key: ");
    for (const id of [accessKeyId, ...foreign]) expect(details).not.toContain(id);
  }
  expect(own.log).toContain("No such key: ");
  for (const id of [accessKeyId, ...foreign]) expect(own.log).not.toContain(id);
});

async function purgeVolumeWithObject(): Promise<string> {
  const wanted = request({ parameters: { deletePolicy: "purge" } });
  const Bucket = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
  return Bucket;
}

/** The store took the request to remove objects, and says of one that it could not be removed. */
function refusedObject(code: string, message: string): Fault {
  const error = `<Error><Key>a</Key><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { do: "answer", status: 200, text: `<DeleteResult>${error}</DeleteResult>` };
}
