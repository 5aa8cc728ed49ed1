/** Answers of object stores that are not what they seem: buckets of others that are called ours, and texts with credentials. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, FaultyProvisioning } from "../support/faulty-provisioning.ts";
import type { Fault } from "../support/faulty-s3.ts";

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
