/** Keys change while mounts are in use. The tests run side by side: most of their time is kubelet's and mount-s3's. */
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Account, rootAccount } from "../../lab/s3.ts";
import { s3Client } from "../../lab/s3-client.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { type MountS3, mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { newAccount, secretFields, type TemporaryAccount } from "../support/s3-accounts.ts";
import { S3Recorder } from "../support/s3-recorder.ts";

const cluster = openCluster();
const node = "worker-1";
/** Five times what the requirement allows. */
const driverLimit = { timeout: 5 * 60_000, interval: 500 };
const volumeLimit = { timeout: 5 * 120_000, interval: 500 };
const long = { timeout: 240_000, interval: 200 };
const driverSecret = { namespace: "kube-system", name: "s3-secret" };

let recorder: S3Recorder;

beforeAll(async () => {
  recorder = await S3Recorder.open(cluster);
});

afterAll(async () => {
  await recorder[Symbol.asyncDispose]();
});

describe.concurrent("keys that change", () => {
  it("MP-4 a new key in the driver's Secret reaches a running mount, which then no longer needs the old one", {
    tags: ["smoke"],
  }, async () => {
    await using sandbox = await cluster.sandbox();
    await using before = await newAccount(cluster);
    await using after = await newAccount(cluster);
    await using _original = { [Symbol.asyncDispose]: () => keep(driverSecret, rootAccount) };
    await keep(driverSecret, before);
    const claim = await sandbox.volume();
    const pod = await readyPod(sandbox, "app", claim);
    await untilKeyInUse(before, { sandbox, pod }, driverLimit);

    const same = await identityOf(claim);
    await keep(driverSecret, after);
    await untilKeyInUse(after, { sandbox, pod }, driverLimit);
    await revoked(before);
    await expectFiles(sandbox, pod);
    expect(await identityOf(claim)).toEqual(same);
  });

  it("MP-4 a new key in a volume's Secret reaches a running mount, which then no longer needs the old one", async () => {
    await using sandbox = await cluster.sandbox();
    await using before = await newAccount(cluster);
    await using after = await newAccount(cluster);
    const { claim, secret } = await volumeWithKeys(sandbox, before);
    const pod = await readyPod(sandbox, "app", claim);
    expect(await keyInUse(sandbox, pod)).toBe(before.accessKeyId);

    const same = await identityOf(claim);
    await keep(secret, after);
    await untilKeyInUse(after, { sandbox, pod }, volumeLimit);
    await revoked(before);
    await expectFiles(sandbox, pod);
    expect(await identityOf(claim)).toEqual(same);
  });

  it("MP-3 a new key reaches the mount although the workload that mounted first is gone; nothing is left of it at the end", async () => {
    await using sandbox = await cluster.sandbox();
    await using before = await newAccount(cluster);
    await using after = await newAccount(cluster);
    const { claim, secret } = await volumeWithKeys(sandbox, before);
    const first = await readyPod(sandbox, "first", claim);
    const second = await readyPod(sandbox, "second", claim);
    const { name, uid } = await mountS3Of(cluster, node, claim);
    await cluster.deletePod(first);

    await keep(secret, after);
    await untilKeyInUse(after, { sandbox, pod: second }, volumeLimit);
    await revoked(before);
    await expectFiles(sandbox, second);
    expect((await mountS3Of(cluster, node, claim)).name).toBe(name);
    expect(await filesWithKeys(uid)).toMatch(/credentials\/s3-csi-keys$/m);

    await cluster.deletePod(second);
    await vi.waitFor(async () => expect(await cluster.get("pod", name, "-n", "mount-s3")).toBeUndefined(), long);
    await vi.waitFor(async () => expect(await filesWithKeys(uid)).toBe(""), long);
  });
});

async function keep({ namespace, name }: PodRef, keys: Account): Promise<void> {
  const metadata = { namespace, name };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: secretFields(keys) });
}

async function volumeWithKeys(sandbox: Sandbox, keys: Account): Promise<{ claim: string; secret: PodRef }> {
  const secret = { namespace: sandbox.name, name: "keys" };
  await keep(secret, keys);
  const attributes = { authenticationSource: "secret" };
  return { claim: await sandbox.volume({ attributes, csi: { nodePublishSecretRef: secret } }), secret };
}

async function readyPod(sandbox: Sandbox, name: string, claim: string): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim });
  await cluster.untilReady(pod);
  return pod;
}

interface Use {
  readonly sandbox: Sandbox;
  readonly pod: PodRef;
}

/** Not expect.poll, which does not know its test where several run side by side. */
async function untilKeyInUse(keys: Account, { sandbox, pod }: Use, limit: typeof driverLimit): Promise<void> {
  await vi.waitFor(async () => expect(await keyInUse(sandbox, pod)).toBe(keys.accessKeyId), limit);
}

/** Makes mount-s3 ask the object store, and tells with whose key it did. */
async function keyInUse({ bucket }: Sandbox, pod: PodRef): Promise<string | undefined> {
  await cluster.exec(pod, "ls /data");
  return recorder.keysUsedOn(bucket).at(-1);
}

/** From now on the object store refuses it: seen. */
async function revoked(account: TemporaryAccount): Promise<void> {
  await account.revoke();
  const client = s3Client(cluster.lab.layout.s3Socket, account);
  await expect(client.send(new ListObjectsV2Command({ Bucket: "any" }))).rejects.toMatchObject({
    name: "InvalidAccessKeyId",
  });
}

async function expectFiles({ bucket }: Sandbox, pod: PodRef): Promise<void> {
  await cluster.s3.send(new PutObjectCommand({ Bucket: bucket, Key: "put-later", Body: "hello\n" }));
  expect(await cluster.exec(pod, "cat /data/put-later && echo bye > /data/written-later")).toBe("hello\n");
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "written-later" }));
  expect(await Body?.transformToString()).toBe("bye\n");
}

/** Stays as it is unless something was mounted, started or replaced: a line of the mount table begins with a mount's id. */
async function identityOf(claim: string): Promise<MountS3 & { mounts: string; restarts: number | undefined }> {
  const mountS3 = await mountS3Of(cluster, node, claim);
  const ours = `/var/lib/kubelet/[^ ]*(${mountS3.name}|/${claim}/mount) `;
  const mounts = await onNode(cluster, node, "grep", "-E", ours, "/proc/1/mountinfo");
  const pod = await cluster.get<Pod>("pod", mountS3.name, "-n", "mount-s3");
  return { ...mountS3, mounts, restarts: pod?.status?.containerStatuses?.[0]?.restartCount };
}

/** Below kubelet's directory of a Pod. */
function filesWithKeys(uid: string): Promise<string> {
  const script = 'cd "/var/lib/kubelet/pods/$1" 2>/dev/null && grep -rl AccessKeyId . || true';
  return onNode(cluster, node, "sh", "-c", script, "files", uid);
}
