/** Claims in every shape: access modes, binding modes, parameters of the class, Secrets by template, volumes that live with a Pod. */
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import { s3Client } from "../../lab/s3-client.ts";
import { locationFor } from "../../src/csi-controller/domain/bucket-location.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { bucketNames, Claims, eventsAbout, keepVersions, patient, secretFor, tagsOf } from "../support/claims.ts";
import { openCluster, type PodRef, podManifest, type Sandbox, versionsIn } from "../support/cluster.ts";
import { secretManifest } from "../support/s3-accounts.ts";

const cluster = openCluster();
const { s3 } = cluster;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("PR-3 RWX, ROX, RWO and RWOP claims bind; ROX cannot be written, and a second RWOP Pod is held back", async () => {
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "purge" } });
  const modes = {
    rwx: "ReadWriteMany",
    rox: "ReadOnlyMany",
    rwo: "ReadWriteOnce",
    rwop: "ReadWriteOncePod",
  } as const;
  const rows = Object.entries(modes);
  await Promise.all(rows.map(([name, accessMode]) => claims.claim(name, { accessMode })));
  await Promise.all(rows.map(([name]) => claims.bound(name)));
  const pods = await Promise.all(rows.map(([name]) => sandbox.pod(name, { claim: name })));
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const wrote = await Promise.all(
    pods.map((pod) => cluster.exec(pod, "echo x > /data/x 2>/dev/null && echo yes || echo no")),
  );
  expect(wrote.map((answer) => answer.trim())).toEqual(["yes", "no", "yes", "yes"]);
  const second = await sandbox.pod("rwop-2", { claim: "rwop" });
  await expect.poll(async () => (await conditionsOf(second)).join(), patient).toMatch(/ReadWriteOncePod/);
  await Promise.all([...pods, second].map((pod) => cluster.deletePod(pod)));
});

it("PR-3 a block volume is refused with the fix", async () => {
  await using claims = await Claims.ofClass(sandbox);
  await claims.claim("block", { volumeMode: "Block" });
  await expect
    .poll(async () => (await eventsAbout(cluster, "block", sandbox.name)).map(({ message }) => message).join(), patient)
    .toMatch(/block device.*volumeMode Filesystem/);
});

it("WaitForFirstConsumer: the bucket is made when a Pod needs it, and not before", async () => {
  await using claims = await Claims.ofClass(sandbox, { volumeBindingMode: "WaitForFirstConsumer" });
  const uid = await claims.claim("waits");
  const { bucket } = locationFor(`pvc-${uid}`, { kind: "own" });
  await expect
    .poll(async () => (await eventsAbout(cluster, "waits", sandbox.name)).map(({ reason }) => reason), patient)
    .toContain("WaitForFirstConsumer");
  expect(await bucketNames(s3)).not.toContain(bucket);
  const pod = await sandbox.pod("consumer", { claim: "waits" });
  await cluster.untilReady(pod);
  expect(await bucketNames(s3)).toContain(bucket);
  await cluster.deletePod(pod);
});

it("DS-5 a bucket of another account under the name of the claim's: AlreadyExists, and nothing is mounted", async () => {
  await using claims = await Claims.ofClass(sandbox, { volumeBindingMode: "WaitForFirstConsumer" });
  const uid = await claims.claim("taken");
  const { bucket } = locationFor(`pvc-${uid}`, { kind: "own" });
  const tenant = s3Client(cluster.lab.layout.s3Socket, tenantAccount);
  await cluster.makeBucket(bucket, {}, tenant);
  const pod = await sandbox.pod("robbed", { claim: "taken" });
  await expect
    .poll(async () => (await eventsAbout(cluster, "taken", sandbox.name)).map(({ message }) => message).join(), patient)
    .toMatch(/AlreadyExists.*BucketAlreadyExists/);
  expect((await cluster.get<Pod>("pod", pod.name, "-n", pod.namespace))?.status?.phase).toBe("Pending");
  await cluster.deletePod(pod);
  await cluster.removeBucket(bucket, tenant);
});

it("PR-5 name, tags and policy as the class says; a class of 2.x with keys that nobody knows provisions", async () => {
  const parameters = {
    bucketNamePrefix: "${pvc.namespace}.${pvc.name}",
    tags: "team=a,claim=${pvc.namespace}/${pvc.name},volume=${pv.name}",
    region: "us-east-1",
    deletePolicy: "purge",
    somethingOf2x: "yes",
  };
  await using claims = await Claims.ofClass(sandbox, { parameters });
  const volume = await claims.volume("named");
  const { volumeHandle, volumeAttributes } = volume.spec.csi;
  const bucket = volumeAttributes["bucketName"] ?? "";
  expect(bucket).toMatch(new RegExp(`^${sandbox.name}-named-[0-9a-f]{16}$`));
  expect(volumeHandle).toMatch(new RegExp(`^csi-s3-[-0-9a-f]{36}/bucket/${bucket}$`));
  expect(volumeAttributes).toMatchObject({ region: "us-east-1", deletePolicy: "purge" });
  expect(await tagsOf(s3, bucket)).toMatchObject({
    team: "a",
    claim: `${sandbox.name}/named`,
    volume: volume.metadata.name,
    "s3.csi.scality.com/claim": `${sandbox.name}/named`,
    "s3.csi.scality.com/volume-id": volumeHandle,
  });
  const pod = await sandbox.pod("named", { claim: "named" });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo x > /data/x");
  await cluster.deletePod(pod);
  await claims.deleteVolume("named", volume);
  expect(await bucketNames(s3)).not.toContain(bucket);
});

it("PR-5 claims that share a bucket see what is theirs, and only that goes with them", async () => {
  const shared = sandbox.bucket;
  await keepVersions(s3, shared);
  const parameters = { sharedBucket: shared, deletePolicy: "purge" };
  await using claims = await Claims.ofClass(sandbox, { parameters, mountOptions: ["prefix=inner/", "allow-delete"] });
  const [one, other] = await Promise.all(["one", "other"].map((name) => claims.volume(name)));
  await s3.send(new PutObjectCommand({ Bucket: shared, Key: "of-nobody.txt", Body: "x" }));
  expect(one?.spec.csi.volumeHandle).toMatch(new RegExp(`/prefix-in/${shared}$`));
  const pods = await Promise.all(["one", "other"].map((name) => sandbox.pod(`sharing-${name}`, { claim: name })));
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  for (const pod of pods) await cluster.exec(pod, `echo ${pod.name} > /data/${pod.name}.txt`);
  const seen = await Promise.all(pods.map((pod) => cluster.exec(pod, "ls /data")));
  expect(seen.map((names) => names.trim())).toEqual(["sharing-one.txt", "sharing-other.txt"]);
  const prefix = other?.spec.csi.volumeAttributes["prefix"] ?? "";
  const key = `${prefix}inner/sharing-other.txt`;
  await expect(s3.send(new GetObjectCommand({ Bucket: shared, Key: key }))).resolves.toMatchObject({
    ContentLength: 14,
  });
  await Promise.all(pods.map((pod) => cluster.deletePod(pod)));

  if (one !== undefined) await claims.deleteVolume("one", one);

  const left = await versionsIn(s3, shared);
  expect(new Set(left.map((version) => version.key))).toEqual(new Set([key, "of-nobody.txt"]));
});

it("PR-9 an ephemeral volume of our class is made for the Pod, written, and goes with it", async () => {
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "purge" } });
  const before = await bucketNames(s3);
  const template = {
    spec: {
      storageClassName: claims.className,
      accessModes: ["ReadWriteMany"],
      resources: { requests: { storage: "1Gi" } },
    },
  };
  const ref = { namespace: sandbox.name, name: "ephemeral" };
  const pod = podManifest(ref, { claim: "unused" }) as { spec: { volumes: object[] } };
  pod.spec.volumes = [{ name: "data", ephemeral: { volumeClaimTemplate: template } }];
  await cluster.apply(pod);
  await cluster.untilReady(ref);
  await cluster.exec(ref, "echo x > /data/x");
  const made = (await bucketNames(s3)).filter((bucket) => !before.includes(bucket));
  expect(made).toHaveLength(1);
  await cluster.deletePod(ref);
  await expect.poll(() => bucketNames(s3), patient).not.toContain(made[0]);
});

it("Secrets by every template: each tenant's bucket belongs to its own account, and mounts with it", async () => {
  const parameters = {
    ...secretFor("provisioner", "${pvc.name}-keys", "${pvc.namespace}"),
    ...secretFor("node-publish", "${pvc.annotations['keys']}", "${pvc.namespace}"),
    deletePolicy: "purge",
  };
  await using claims = await Claims.ofClass(sandbox, { parameters });
  const accounts = { first: rootAccount, second: tenantAccount } as const;
  for (const [name, account] of Object.entries(accounts)) {
    await cluster.apply(secretManifest({ name: `${name}-keys`, namespace: sandbox.name }, account));
  }
  const volumes = await Promise.all(
    Object.keys(accounts).map((name) => claims.volume(name, { annotations: { keys: `${name}-keys` } })),
  );
  const [, second] = volumes.map((volume) => volume.spec.csi);
  expect(second).toMatchObject({
    volumeAttributes: { authenticationSource: "secret" },
    nodePublishSecretRef: { name: "second-keys", namespace: sandbox.name },
  });
  const pods = await Promise.all(Object.keys(accounts).map((name) => sandbox.pod(`of-${name}`, { claim: name })));
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  for (const pod of pods) await cluster.exec(pod, "echo x > /data/x");
  const tenant = s3Client(cluster.lab.layout.s3Socket, tenantAccount);
  const [ofFirst, ofSecond] = volumes.map(
    (volume) => new GetObjectCommand({ Bucket: volume.spec.csi.volumeHandle, Key: "x" }),
  );
  if (ofFirst === undefined || ofSecond === undefined) throw new Error("two volumes");
  await expect(tenant.send(ofFirst)).rejects.toMatchObject({ name: "AccessDenied" });
  await expect(tenant.send(ofSecond)).resolves.toMatchObject({ ContentLength: 2 });
  await Promise.all(pods.map((pod) => cluster.deletePod(pod)));
  for (const [index, name] of Object.keys(accounts).entries()) {
    const volume = volumes[index];
    if (volume !== undefined) await claims.deleteVolume(name, volume);
  }
  const left = await bucketNames(s3);
  for (const volume of volumes) expect(left).not.toContain(volume.spec.csi.volumeHandle);
});

it("Secrets by the name of the volume, and of the claim's namespace: also in a namespace that is called like the volume", async () => {
  const parameters = {
    ...secretFor("provisioner", "${pvc.namespace}-${pvc.annotations['keys']}-${pv.name}", "${pv.name}"),
    ...secretFor("node-publish", "${pvc.name}.${pv.name}", "${pvc.namespace}"),
  };
  await using claims = await Claims.ofClass(sandbox, { parameters });
  const name = `pvc-${await claims.claim("by-volume", { annotations: { keys: "tenant" } })}`;
  await cluster.kubectl("create", "namespace", name);
  await using undo = new AsyncDisposableStack();
  undo.defer(async () => void (await cluster.kubectl("delete", "namespace", name)));
  await cluster.apply(
    secretManifest({ namespace: name, name: `${sandbox.name}-tenant-${name}` }, tenantAccount),
    secretManifest({ namespace: sandbox.name, name: `by-volume.${name}` }, tenantAccount),
  );
  const volume = await claims.bound("by-volume");
  expect(volume.metadata.name).toBe(name);
  const pod = await sandbox.pod("by-volume", { claim: "by-volume" });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo x > /data/x");
  const tenant = s3Client(cluster.lab.layout.s3Socket, tenantAccount);
  await cluster.emptyBucket(volume.spec.csi.volumeHandle, tenant);
  await cluster.deletePod(pod);
  await claims.deleteVolume("by-volume", volume);
  expect(await bucketNames(s3)).not.toContain(volume.spec.csi.volumeHandle);
});

async function conditionsOf(pod: PodRef): Promise<readonly (string | undefined)[]> {
  const seen = await cluster.get<Pod>("pod", pod.name, "-n", pod.namespace);
  return seen?.status?.conditions?.map(({ message }) => message) ?? [];
}
