/** Buckets that no volume and no claim leads to: reported where an operator looks, and left alone. */
import { randomBytes, randomUUID } from "node:crypto";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { s3Endpoint } from "../../lab/s3.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import { bucketNames, eventsAbout, patient } from "../support/claims.ts";
import { openCluster, persistentVolumeManifest, type Sandbox } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { FaultyS3 } from "../support/faulty-s3.ts";

const cluster = openCluster();
const { s3 } = cluster;
const often = ["--orphan-look-seconds=1", "--orphan-settle-seconds=1"];
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("DS-4 a bucket without volume and claim is reported on the controller's Pod and stays; with a volume, a claim or on purpose it is not", async () => {
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint });
  await using undo = new AsyncDisposableStack();
  const bucketFor = async (name: string, parameters: Readonly<Record<string, string>> = {}) => {
    const { volume } = await provisioner.controller.createVolume(createRequest({ name, parameters }));
    const bucket = volume?.volumeContext["bucketName"] ?? "";
    undo.defer(() => cluster.removeBucket(bucket));
    return { bucket, volumeId: volume?.volumeId ?? "" };
  };
  const withVolume = await bucketFor(`pvc-${randomUUID()}`);
  const volumeName = `${sandbox.name}-volume`;
  await cluster.apply(persistentVolumeManifest({ namespace: sandbox.name, name: volumeName }, withVolume.bucket, {}));
  undo.defer(async () => void (await cluster.kubectl("delete", "pv", volumeName)));
  const waiting = await claim("waiting");
  const withClaim = await bucketFor(`pvc-${waiting}`, { bucketNamePrefix: "waiting" });
  const kept = await bucketFor(`pvc-${randomUUID()}`);
  await s3.send(new PutObjectCommand({ Bucket: kept.bucket, Key: "a", Body: "a" }));
  await provisioner.controller.deleteVolume({ volumeId: kept.volumeId, secrets: {} });
  const untagged = locationFor(`pvc-${randomUUID()}`, { kind: "own" }).bucket;
  await cluster.makeBucket(untagged);
  undo.defer(() => cluster.removeBucket(untagged));
  const lost = await bucketFor(`pvc-${randomUUID()}`, {
    "csi.storage.k8s.io/pvc/name": "lost",
    "csi.storage.k8s.io/pvc/namespace": "team-a",
  });

  const pod = `controller-${randomBytes(4).toString("hex")}`;
  const env = { POD_NAMESPACE: sandbox.name, POD_NAME: pod, POD_UID: randomUUID() };
  await using _looking = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags: often, env });
  const reports = async () => {
    const events = await eventsAbout(cluster, pod, sandbox.name);
    return events.filter(({ reason }) => reason === "BucketWithoutVolume").map(({ message }) => message);
  };
  // All that is to be said after two looks is said in one go, and these two are a part of it.
  for (const bucket of [lost.bucket, untagged]) {
    await expect.poll(reports, patient).toContainEqual(expect.stringContaining(bucket));
  }
  const said = (await reports()).join("\n");
  expect(said).toContain(`Bucket ${lost.bucket} was created for claim team-a/lost`);
  expect(said).toContain("no PersistentVolume has this bucket, and the claim does not wait for one");
  expect(said).toContain(`Bucket ${untagged} has the name of a volume's bucket`);
  for (const { bucket } of [withVolume, withClaim, kept]) expect(said).not.toContain(bucket);

  await cluster.kubectl("delete", "pvc", "waiting", "-n", sandbox.name);
  await expect.poll(reports, patient).toContainEqual(expect.stringContaining(withClaim.bucket));
  const left = await bucketNames(s3);
  for (const bucket of [untagged, lost.bucket, withClaim.bucket]) expect(left).toContain(bucket);
});

it("an account that may not list buckets: the log says so once, and volumes are created all the same", async () => {
  await using faulty = await FaultyS3.before(s3Endpoint);
  faulty.break(/^GET \/$/, { do: "answer", status: 403, code: "AccessDenied" });
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: faulty.url, flags: often });
  await expect.poll(() => faulty.lines.filter((line) => line === "GET /").length, patient).toBeGreaterThan(2);
  const reported = provisioner.log.split("\n").filter((line) => line.includes("failed to search for orphaned buckets"));
  expect(reported.filter((line) => line.includes('"level":"error"'))).toHaveLength(1);
  const { volume } = await provisioner.controller.createVolume(createRequest());
  await provisioner.controller.deleteVolume({ volumeId: volume?.volumeId ?? "", secrets: {} });
});

/** Of a class that nobody provisions; gives its UID. */
async function claim(name: string): Promise<string> {
  await cluster.apply({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: sandbox.name },
    spec: { storageClassName: "none", accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
  });
  return (await cluster.get("pvc", name, "-n", sandbox.name))?.metadata.uid ?? "";
}
