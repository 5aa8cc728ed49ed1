/** Two stores in one cluster: the lab's own, which is the default store, and MinIO under a name. A third is MinIO without trailing checksums. */
import { randomUUID } from "node:crypto";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { driverNamespace } from "../../lab/install-driver.ts";
import { network } from "../../lab/layout.ts";
import { minioEndpoint, s3Endpoint } from "../../lab/s3.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import { type BoundVolume, bucketNames, Claims } from "../support/claims.ts";
import { openCluster, type PodRef, persistentVolumeManifest, type Sandbox } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { Doctor } from "../support/doctor.ts";
import { eventsIn, killMountS3 } from "../support/healing.ts";
import { installedWith } from "../support/installed-with.ts";
import {
  bothWays,
  filesOfBothSides,
  type LabStore,
  minioStore,
  namedIn,
  textIn,
  untilKeyInUse,
  versitygwStore,
} from "../support/lab-store.ts";
import { MinioInLab } from "../support/minio-in-lab.ts";
import { csiSocketOf } from "../support/mount-s3-process.ts";
import { publishRequestOf } from "../support/publish-request.ts";
import { secretManifest, type TemporaryAccount } from "../support/s3-accounts.ts";
import { S3Recorder } from "../support/s3-recorder.ts";
import { StoreFront } from "../support/store-front.ts";
import { certificateFor } from "../support/tls-endpoint.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 250 };
const secret = { namespace: driverNamespace, name: "keys-of-minio" };

const undo = new AsyncDisposableStack();
const versitygw = versitygwStore(cluster);
let minio: LabStore;
/** It answers as an older Scality RING does. */
let plain: StoreFront;
let recorders: Readonly<Record<"versitygw" | "minio", S3Recorder>>;
let sandbox: Sandbox;
/** In both stores. */
let bucket: string;
let keysOfMinio: TemporaryAccount;
/** MinIO behind a certificate that only its own authority vouches for. */
let secure: StoreFront;
let authority: string;
/** A Pod on each store, with a volume on the bucket of this name there. */
let atDefault: PodRef;
let atMinio: PodRef;

beforeAll(async () => {
  minio = minioStore(undo.use(await MinioInLab.start(cluster)));
  plain = undo.use(
    await StoreFront.open(minioEndpoint, { refuses: ({ headers }) => (headers["x-amz-trailer"] ? 501 : undefined) }),
  );
  const certificate = await certificateFor(network.hub);
  ({ authority } = certificate);
  secure = undo.use(await StoreFront.open(minioEndpoint, { tls: certificate }));
  recorders = {
    versitygw: undo.use(await S3Recorder.open(cluster, versitygw.port)),
    minio: undo.use(await S3Recorder.open(cluster, minio.port)),
  };
  keysOfMinio = undo.use(await minio.newAccount());
  undo.defer(async () => void (await cluster.kubectl("delete", "secret", secret.name, "-n", secret.namespace)));
  await cluster.apply(secretManifest(secret, keysOfMinio));
  undo.use(await installedWith(cluster, values(minioEndpoint)));
  sandbox = undo.use(await cluster.sandbox());
  bucket = sandbox.bucket;
  await cluster.makeBucket(bucket, {}, minio.s3);
  [atDefault, atMinio] = await Promise.all([
    readyPod("at-default", await volume("default", namedIn(versitygw))),
    readyPod("at-minio", await volume("minio", namedIn(minio))),
  ]);
});

afterAll(async () => {
  await undo.disposeAsync();
});

it("ID-4, ID-6 static volumes on buckets of the same name have the objects of their own store, and are healed there", async () => {
  const both = [
    { pod: atDefault, store: versitygw, claim: claimOf("default") },
    { pod: atMinio, store: minio, claim: claimOf("minio") },
  ];
  for (const { pod, store } of both) {
    await store.s3.send(new PutObjectCommand({ Bucket: bucket, Key: "same", Body: pod.name }));
    expect(await filesOfBothSides(cluster, pod, { store, bucket })).toEqual(bothWays);
  }
  for (const { claim } of both) await killMountS3(cluster, node, claim);
  for (const { pod, store } of both) {
    await vi.waitFor(async () => expect(await cluster.exec(pod, "cat /data/same")).toBe(pod.name), long);
    await cluster.exec(pod, "echo again > /data/again");
    expect(await textIn(store, bucket, "again")).toBe("again\n");
    expect(await cluster.exec(pod, "ls /data")).not.toContain(pod === atDefault ? "at-minio" : "at-default");
  }
});

describe.concurrent("side by side", () => {
  it("ID-4 a volume may name the address of a listed store instead of its name", async () => {
    const pod = await readyPod("by-address", await volume("by-address", { endpointUrl: minioEndpoint }));
    expect(await filesOfBothSides(cluster, pod, { store: minio, bucket })).toEqual(bothWays);
  });

  it("ID-4, ID-6 new keys in the Secret of a named store reach its running mounts, and no other store", async () => {
    const before = keysOfMinio;
    // They outlive this test: the other volumes are mounted with them, too.
    keysOfMinio = undo.use(await minio.newAccount());
    await cluster.apply(secretManifest(secret, keysOfMinio));
    await untilKeyInUse(cluster, { pod: atMinio, bucket, recorder: recorders.minio }, keysOfMinio.accessKeyId);
    await before.revoke();
    expect(await filesOfBothSides(cluster, atMinio, { store: minio, bucket })).toEqual(bothWays);
    expect(await filesOfBothSides(cluster, atDefault, { store: versitygw, bucket })).toEqual(bothWays);
  });

  it("ID-4, ID-6 claims become buckets of the store of their class, and go there only, whatever has that name elsewhere", async () => {
    // Claims take all Pods of their namespace along.
    await using own = await cluster.sandbox();
    await using ofDefault = await Claims.ofClass(own, purging(versitygw));
    await using ofMinio = await Claims.ofClass(own, purging(minio));
    const [usual, named] = await Promise.all([ofDefault.volume("usual"), ofMinio.volume("named")]);
    expect(usual.spec.csi.volumeHandle).toMatch(/^csi-s3-[-0-9a-f]{36}$/);
    expect(named.spec.csi.volumeHandle).toMatch(/^csi-s3-[-0-9a-f]{36}@minio$/);
    expect(named.spec.csi.volumeAttributes).toMatchObject({ store: "minio" });
    expect(usual.spec.csi.volumeAttributes).not.toHaveProperty("store");
    await written(own, usual, versitygw, minio);
    await written(own, named, minio, versitygw);

    await ofDefault.deleteVolume("usual", usual);
    await ofMinio.deleteVolume("named", named);

    await onlyAt(minio, versitygw, usual);
    await onlyAt(versitygw, minio, named);
  });

  it("ID-4 mounts and claims trust a store with the authority of its own, and no other", async () => {
    const pod = await readyPod("secure", await volume("secure", { store: "secure" }));
    expect(await filesOfBothSides(cluster, pod, { store: minio, bucket })).toEqual(bothWays);
    await using own = await cluster.sandbox();
    await using ofSecure = await Claims.ofClass(own, { parameters: { deletePolicy: "purge", store: "secure" } });
    const made = await ofSecure.volume("secure");
    const { bucketName = "" } = made.spec.csi.volumeAttributes;
    expect(await bucketNames(minio.s3)).toContain(bucketName);
    await ofSecure.deleteVolume("secure", made);
    expect(await bucketNames(minio.s3)).not.toContain(bucketName);

    const stranger = await sandbox.pod("untrusted", { node, claim: await volume("untrusted", { store: "untrusted" }) });
    const refusal = /certificate|TLS/;
    await vi.waitFor(async () => expect(await eventsIn(cluster, sandbox.name)).toMatch(refusal), long);
    expect(await eventsIn(cluster, sandbox.name)).toMatch(/^untrusted .*s3\.stores\.NAME\.caCertData/m);
    await cluster.deletePod(stranger);
  });

  it("ID-4, OP-4 doctor tries every store from inside the cluster, and names the one that does not work", async () => {
    expect(await new Doctor(cluster).storeFinding()).toMatchObject({
      summary: expect.stringContaining(`${secure.url} of store untrusted`),
      evidence: expect.stringMatching(/certificate/i),
      fix: expect.stringContaining("s3.stores.untrusted"),
    });
  });

  it("ID-5 a store that takes no trailing checksums works with uploadChecksums off", async () => {
    const pod = await readyPod("plain", await volume("plain", { store: "plain" }));
    expect(await filesOfBothSides(cluster, pod, { store: minio, bucket })).toEqual(bothWays);
  });

  it("ID-5 a store that refuses trailing checksums leads to an event with the setting that helps", async () => {
    const pod = await readyPod("refused", await volume("refused", { store: "refusing" }));
    await cluster.exec(pod, "echo lost > /data/lost || true");
    const event = /^refused UploadsRefused: .*HTTP status 501.*s3\.stores\.refusing\.uploadChecksums/m;
    await vi.waitFor(async () => expect(await eventsIn(cluster, sandbox.name)).toMatch(event), long);
  });

  it.for([
    ["address", { endpointUrl: `http://${network.hub}:9999` }, "endpointUrl"],
    ["name", { store: "nowhere" }, "store"],
  ] as const)(
    "ID-4 a store whose %s is not listed is refused at admission and at the mount",
    async ([what, wish, field]) => {
      const ref = { namespace: sandbox.name, name: `${sandbox.name}-${what}` };
      const refused = persistentVolumeManifest(ref, bucket, { attributes: wish });
      const reason = new RegExp(`${field} .* is not (the address of )?a store of this installation.*s3\\.stores`, "s");
      await expect(cluster.apply(refused)).rejects.toThrow(reason);
      using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
      const asked = await publishRequestOf(sandbox, atDefault, claimOf("default"));
      const call = kubelet.nodePublishVolume({ ...asked, volumeContext: { ...asked.volumeContext, ...wish } });
      // The Pod is at its target already, so that kubelet must not take the volume for unmounted.
      await expect(call).rejects.toMatchObject({
        code: status.UNAVAILABLE,
        details: expect.stringMatching(`volumeAttributes.${field}.*s3\\.stores`),
      });
    },
  );
});

it("ID-4 keys of one store were never sent to the other", async () => {
  const [usual, named] = [keysAt(recorders.versitygw), keysAt(recorders.minio)];
  expect(Math.min(usual.size, named.size)).toBeGreaterThan(0);
  expect([...usual].filter((key) => named.has(key))).toEqual([]);
});

it("ID-4 a store that becomes another under a running volume keeps its mount, which does not come back elsewhere, and says so", async () => {
  // Not undone: this is the last installation but that of the end.
  await installedWith(cluster, values(s3Endpoint));
  expect(await cluster.exec(atMinio, "cat /data/same")).toBe("at-minio");
  await killMountS3(cluster, node, claimOf("minio"));
  const event = `at-minio VolumeNotHealed: .*store minio is now ${s3Endpoint}, and the volume was mounted at ${minioEndpoint}.*s3\\.stores\\.minio\\.formerEndpointUrls`;
  await vi.waitFor(async () => expect(await eventsIn(cluster, sandbox.name)).toMatch(new RegExp(event)), long);
  // kubelet repeats its call within 90 s: that does not mount the volume at the other store either.
  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  const usual = await publishRequestOf(sandbox, atMinio, claimOf("minio"));
  const again = kubelet.nodePublishVolume({ ...usual, volumeContext: { ...usual.volumeContext, store: "minio" } });
  await expect(again).rejects.toMatchObject({ details: expect.stringContaining(`store minio is now ${s3Endpoint}`) });
  await expect(cluster.exec(atMinio, "cat /data/same")).rejects.toThrow(/not connected/i);
  expect(recorders.versitygw.keysUsedOn(bucket)).not.toContain(keysOfMinio.accessKeyId);
  await installedWith(cluster, values(minioEndpoint));
  await vi.waitFor(async () => expect(await cluster.exec(atMinio, "cat /data/same")).toBe("at-minio"), long);
});

/** Not those of requests without a signature. */
function keysAt({ requests }: S3Recorder): ReadonlySet<string> {
  return new Set(requests.map(({ accessKeyId }) => accessKeyId).filter((id) => id !== ""));
}

function values(endpointUrl: string): readonly string[] {
  return [
    `s3.stores.minio.endpointUrl=${endpointUrl}`,
    `s3.stores.minio.credentialSecret.name=${secret.name}`,
    `s3.stores.plain.endpointUrl=${plain.url}`,
    `s3.stores.plain.credentialSecret.name=${secret.name}`,
    "s3.stores.plain.uploadChecksums=off",
    ...["secure", "untrusted"].flatMap((name) => [
      `s3.stores.${name}.endpointUrl=${secure.url}`,
      `s3.stores.${name}.credentialSecret.name=${secret.name}`,
    ]),
    `s3.stores.secure.caCertData=${authority}`,
    `s3.stores.refusing.endpointUrl=${plain.url}`,
    `s3.stores.refusing.credentialSecret.name=${secret.name}`,
  ];
}

function claimOf(name: string): string {
  return `${sandbox.name}-${name}`;
}

async function volume(name: string, attributes: Readonly<Record<string, string>>): Promise<string> {
  return await sandbox.volume({ name: claimOf(name), attributes });
}

async function readyPod(name: string, claim: string): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim });
  await cluster.untilReady(pod);
  return pod;
}

function purging(store: LabStore) {
  return { parameters: { deletePolicy: "purge", ...namedIn(store) } };
}

/** A Pod writes to the volume, and somebody has a bucket of its name at the other store. */
async function written(own: Sandbox, { spec }: BoundVolume, store: LabStore, other: LabStore): Promise<void> {
  const { bucketName = "" } = spec.csi.volumeAttributes;
  expect(await bucketNames(store.s3)).toContain(bucketName);
  expect(await bucketNames(other.s3)).not.toContain(bucketName);
  await cluster.makeBucket(bucketName, {}, other.s3);
  await other.s3.send(new PutObjectCommand({ Bucket: bucketName, Key: "theirs", Body: randomUUID() }));
  const claim = store === minio ? "named" : "usual";
  const pod = await own.pod(`writer-${claim}`, { node, claim });
  await cluster.untilReady(pod);
  expect(await filesOfBothSides(cluster, pod, { store, bucket: bucketName })).toEqual(bothWays);
  expect(await cluster.exec(pod, "ls /data")).not.toContain("theirs");
  await cluster.deletePod(pod);
}

async function onlyAt(store: LabStore, gone: LabStore, { spec }: BoundVolume): Promise<void> {
  const { bucketName = "" } = spec.csi.volumeAttributes;
  expect(await bucketNames(gone.s3)).not.toContain(bucketName);
  expect(await textIn(store, bucketName, "theirs")).toMatch(/^[-0-9a-f]{36}$/);
  await cluster.removeBucket(bucketName, store.s3);
}
