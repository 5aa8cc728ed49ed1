/** Two stores with accounts of their own: what happens to the volumes of one leaves the other alone (ID-4). */
import { randomUUID } from "node:crypto";
import { ListObjectsV2Command, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { s3Endpoint } from "../../lab/s3.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { bucketNames, eventsAbout, patient, tagsOf } from "../support/claims.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { type CsiControllerOptions, CsiControllerProcess } from "../support/csi-controller-process.ts";
import { FaultyS3 } from "../support/faulty-s3.ts";
import { type VolumeWithHandle, volumesKnownTo } from "../support/known-volumes.ts";
import { madeUpKeys, secretFields, secretManifest } from "../support/s3-accounts.ts";
import { S3Server } from "../support/s3-server.ts";

const cluster = openCluster();
const account = madeUpKeys();
const secretName = "second-keys";
let sandbox: Sandbox;
let server: S3Server;
/** In front of the second store: its lines tell whether the store was asked. */
let path: FaultyS3;
let s3: S3Client;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
  server = await S3Server.start(cluster, { account, region: "eu-west-1" });
  path = await FaultyS3.before(server.url);
  s3 = server.client("eu-west-1");
  await cluster.apply(secretManifest({ namespace: sandbox.name, name: secretName }, account));
});

afterAll(async () => {
  await path[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

/** The CSI controller service of an installation with the lab's store and, unless a test says otherwise, the second one. */
async function start(options: Omit<CsiControllerOptions, "s3"> = {}, stores: object = { second: second() }) {
  const env = { POD_NAMESPACE: sandbox.name, S3_STORES: JSON.stringify(stores), ...options.env };
  return await CsiControllerProcess.start(cluster, { s3: s3Endpoint, ...options, env });
}

function second() {
  return { endpointUrl: path.url, region: "eu-west-1", credentialSecret: { name: secretName } };
}

const purge = { deletePolicy: "purge" };
const onSecond = { ...purge, store: "second" };

it("ID-4 two volumes whose buckets have one name, on two stores: the deletion of one leaves the other", async () => {
  await using provisioner = await start();
  const name = `pvc-${randomUUID()}`;
  const usual = await created(provisioner, name, purge);
  const named = await created(provisioner, name, onSecond);
  const bucket = usual.attributes.bucketName;
  expect(usual.volumeHandle).toBe(bucket);
  expect(named).toMatchObject({
    volumeHandle: `${bucket}@second`,
    attributes: { bucketName: bucket, store: "second" },
  });
  expect(await tagsOf(s3, bucket)).toMatchObject({ "s3.csi.scality.com/volume-id": named.volumeHandle });
  for (const each of [cluster.s3, s3]) await each.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "a" }));
  await using undo = new AsyncDisposableStack();
  undo.defer(async () => {
    if ((await bucketNames(cluster.s3)).includes(bucket)) await cluster.removeBucket(bucket);
  });

  {
    await using _ = await volumesKnownTo(cluster, provisioner, named);
    await provisioner.controller.deleteVolume({ volumeId: named.volumeHandle, secrets: {} });
  }
  expect(await bucketNames(s3)).not.toContain(bucket);
  expect(await keysIn(cluster.s3, bucket)).toEqual(["a"]);

  await created(provisioner, name, onSecond);
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "b", Body: "b" }));
  {
    await using _ = await volumesKnownTo(cluster, provisioner, usual);
    await provisioner.controller.deleteVolume({ volumeId: usual.volumeHandle, secrets: {} });
  }
  expect(await bucketNames(cluster.s3)).not.toContain(bucket);
  expect(await keysIn(s3, bucket)).toEqual(["b"]);
});

it("ID-4 a store that is not listed any more: nothing is deleted, and the chart value to restore is named", async () => {
  const volume = await onSecondStore();
  await using provisioner = await start({}, {});
  path.restore();
  const refused = provisioner.controller.deleteVolume({ volumeId: volume.volumeHandle, secrets: {} });
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining("s3.stores.second"),
  });
  await expect(refused).rejects.toThrow(failurePattern("storeNotListed"));
  expect(path.lines).toEqual([]);
  expect(await bucketNames(s3)).toContain(volume.attributes.bucketName);
});

it("ID-4 a PersistentVolume that names another store than its handle: nothing is deleted", async () => {
  const volume = await onSecondStore();
  await using provisioner = await start();
  const attributes = { ...volume.attributes, store: "default" };
  await using _ = await volumesKnownTo(cluster, provisioner, { ...volume, attributes });
  const refused = provisioner.controller.deleteVolume({ volumeId: volume.volumeHandle, secrets: {} });
  await expect(refused).rejects.toThrow(failurePattern("volumeOfAnotherStore"));
  expect(await bucketNames(s3)).toContain(volume.attributes.bucketName);
});

it("ID-4 credentials of a Secret for another store are not sent to the store of the class", async () => {
  await using provisioner = await start();
  path.restore();
  const secrets = { ...secretFields(account), store: "default" };
  const refused = provisioner.controller.createVolume(createRequest({ parameters: onSecond, secrets }));
  await expect(refused).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  await expect(refused).rejects.toThrow(failurePattern("secretOfAnotherStore"));
  expect(path.lines).toEqual([]);
});

it("ID-4 a Secret that names its store is enough: the volume is created there, and deleted with it", async () => {
  await using provisioner = await start();
  const secrets = { ...secretFields(account), endpoint_url: path.url };
  const { volume } = await provisioner.controller.createVolume(createRequest({ secrets }));
  const { bucketName = "", store } = volume?.volumeContext ?? {};
  expect(store).toBe("second");
  expect(await bucketNames(s3)).toContain(bucketName);
  await provisioner.controller.deleteVolume({ volumeId: volume?.volumeId ?? "", secrets });
  expect(await bucketNames(s3)).not.toContain(bucketName);
});

it("ID-4 without the driver's Secret for a store, the credentials of the other store are not used there", async () => {
  await using provisioner = await start({}, { second: { ...second(), credentialSecret: { name: "missing" } } });
  path.restore();
  await expect(provisioner.controller.createVolume(createRequest({ parameters: onSecond }))).rejects.toMatchObject({
    details: expect.stringContaining(`Secret ${sandbox.name}/missing does not exist`),
  });
  expect(path.lines).toEqual([]);
});

it.for([
  ["store", { store: "third" }],
  ["endpointUrl", { endpointUrl: "http://third" }],
] as const)("ID-4 a class whose %s is not listed is refused with the chart value", async ([field, parameters]) => {
  await using provisioner = await start();
  const refused = provisioner.controller.createVolume(createRequest({ parameters }));
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringMatching(new RegExp(`parameters\\.${field} .*s3\\.stores`)),
  });
});

it("ID-4 an orphaned bucket is found on the store where it is, and reported with it", async () => {
  const lost = await onSecondStore();
  const pod = `controller-${randomUUID()}`;
  const env = { POD_NAME: pod, POD_UID: randomUUID() };
  const flags = ["--orphan-look-seconds=1", "--orphan-settle-seconds=1"];
  await using _looking = await start({ flags, env });
  const reports = async () => {
    const events = await eventsAbout(cluster, pod, sandbox.name);
    return events.filter(({ reason }) => reason === "BucketWithoutVolume").map(({ message }) => message);
  };
  const expected = expect.stringContaining(`Bucket ${lost.attributes.bucketName} on store second was created for`);
  await expect.poll(reports, patient).toContainEqual(expected);
});

it("ID-4 volumes below sharedBucketPrefix: purge removes nothing outside of the volume", async () => {
  await using provisioner = await start();
  const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
  const bucket = `t-${randomUUID()}`;
  await cluster.makeBucket(bucket);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => cluster.removeBucket(bucket));
  const parameters = { ...purge, ...claim, sharedBucket: bucket, sharedBucketPrefix: "${pvc.namespace}" };
  const volume = await created(provisioner, `pvc-${randomUUID()}`, parameters);
  const { prefix = "" } = volume.attributes;
  expect(prefix).toMatch(/^team-a\/csi-s3-[-0-9a-f]{36}\/$/);
  const outside = ["a", prefix.replace("team-a/", ""), "team-a/a", `team-b/${prefix}a`];
  for (const Key of [`${prefix}a`, ...outside]) {
    await cluster.s3.send(new PutObjectCommand({ Bucket: bucket, Key: Key.replace(/\/$/, "/b"), Body: "a" }));
  }
  await using _ = await volumesKnownTo(cluster, provisioner, volume);
  await provisioner.controller.deleteVolume({ volumeId: volume.volumeHandle, secrets: {} });
  const left = await keysIn(cluster.s3, bucket);
  expect(left.toSorted()).toEqual(outside.map((key) => key.replace(/\/$/, "/b")).toSorted());
});

/** Made by a controller that has ended. */
async function onSecondStore(): Promise<VolumeWithHandle> {
  await using provisioner = await start();
  return await created(provisioner, `pvc-${randomUUID()}`, onSecond);
}

async function created(
  { controller }: CsiControllerProcess,
  name: string,
  parameters: Readonly<Record<string, string>>,
): Promise<VolumeWithHandle> {
  const { volume } = await controller.createVolume(createRequest({ name, parameters }));
  const { bucketName = "", ...attributes } = volume?.volumeContext ?? {};
  return { name, volumeHandle: volume?.volumeId ?? "", attributes: { ...attributes, bucketName } };
}

async function keysIn(store: S3Client, Bucket: string): Promise<readonly string[]> {
  const { Contents = [] } = await store.send(new ListObjectsV2Command({ Bucket }));
  return Contents.map(({ Key = "" }) => Key);
}
