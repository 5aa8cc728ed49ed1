/** What users do with volumes, on whichever store: the rows of the table in docs/compatibility.md. */
import { createHash } from "node:crypto";
import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { expect, vi } from "vitest";
import { bucketNames, Claims, keepVersions } from "./claims.ts";
import type { Cluster, PodRef, Sandbox } from "./cluster.ts";
import { killMountS3 } from "./healing.ts";
import { inParallel } from "./in-parallel.ts";
import { bothWays, filesOfBothSides, type LabStore, namedIn, textIn, untilKeyInUse } from "./lab-store.ts";
import { mountS3Of } from "./mount-s3-process.ts";
import { secretManifest } from "./s3-accounts.ts";
import type { S3Recorder } from "./s3-recorder.ts";

/** A store with a volume on it, in which files may be replaced and deleted, and a Pod with the volume at /data. */
export interface TriedStore {
  readonly cluster: Cluster;
  readonly sandbox: Sandbox;
  readonly store: LabStore;
  readonly bucket: string;
  readonly claim: string;
  readonly node: string;
  readonly pod: PodRef;
  /** The driver's own, for this store. */
  readonly secret: PodRef;
  readonly recorder: S3Recorder;
}

type Trial = (tried: TriedStore) => Promise<void>;

export interface Feature {
  /** Without a colon: results are told apart by it. */
  readonly title: string;
  readonly works: Trial;
  /** Stores on which something else is seen, and what. */
  readonly elsewhere?: Readonly<Record<string, { readonly seen: string; readonly trial: Trial }>>;
}

const long = { timeout: 240_000, interval: 250 };

export const storeFeatures: readonly Feature[] = [
  {
    title: "a static volume",
    works: async (tried) => {
      expect(await filesOfBothSides(tried.cluster, tried.pod, tried)).toEqual(bothWays);
    },
  },
  { title: "a file of several parts", works: largeFile },
  {
    title: "an empty file",
    works: emptyFile,
    elsewhere: {
      garage: { seen: "is refused, which only the log of mount-s3 says", trial: emptyFileIsLost },
    },
  },
  { title: "names with spaces, signs and other scripts", works: oddNames },
  { title: "replaced and deleted files", works: replacedAndDeleted },
  { title: "a directory of more files than a page of a list has", works: largeDirectory },
  { title: "healing", works: healing },
  { title: "new keys of the driver", works: newKeys },
  { title: "a claim of a StorageClass", works: claimOfClass },
  {
    title: "purge of versions and unfinished uploads",
    works: purge,
    elsewhere: {
      garage: { seen: "works; the store has no versions", trial: purgeWithoutVersions },
    },
  },
];

async function largeFile({ cluster, pod, store, bucket }: TriedStore): Promise<void> {
  const copy =
    "dd if=/dev/urandom of=/tmp/large bs=1M count=20 2>/dev/null && cp /tmp/large /data/large && md5sum < /tmp/large";
  const [written] = (await cluster.exec(pod, copy)).split(" ");
  const { Body } = await store.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "large" }));
  const stored = createHash("md5").update((await Body?.transformToByteArray()) ?? "");
  expect(stored.digest("hex")).toBe(written);
  expect(await cluster.exec(pod, "md5sum < /data/large")).toContain(written);
}

/** mount-s3 uploads a file that nobody has written to when the kernel releases it, which is after close(2). */
async function emptyFile({ cluster, pod, store, bucket }: TriedStore): Promise<void> {
  await cluster.exec(pod, ": > /data/empty");
  await vi.waitFor(async () => expect(await textIn(store, bucket, "empty")).toBe(""), long);
}

async function emptyFileIsLost({ cluster, node, claim, pod, store, bucket }: TriedStore): Promise<void> {
  await cluster.exec(pod, ": > /data/empty");
  const { name } = await mountS3Of(cluster, node, claim);
  const log = () => cluster.kubectl("logs", "-n", "mount-s3", name);
  await vi.waitFor(async () => expect(await log()).toMatch(/(release|put|upload).*400/i), long);
  await expect(textIn(store, bucket, "empty")).rejects.toThrow(/not found|not exist/i);
}

const names = ["two words", "a+b", "50%", "%41", "x&y;z", "it's", "größe-размер-大きさ"];

async function oddNames({ cluster, pod, store, bucket }: TriedStore): Promise<void> {
  for (const name of names) {
    const quoted = `'/data/names/${name.replaceAll("'", String.raw`'\''`)}'`;
    await cluster.exec(pod, `mkdir -p /data/names && printf %s here > ${quoted}`);
    expect(await textIn(store, bucket, `names/${name}`)).toBe("here");
  }
  // Not with ls, which writes signs that the locale does not have as "?".
  const listed = (await cluster.exec(pod, "cd /data/names && printf '%s\\n' *")).trim().split("\n");
  expect(listed.toSorted()).toEqual(names.toSorted());
}

async function replacedAndDeleted({ cluster, pod, store, bucket }: TriedStore): Promise<void> {
  await cluster.exec(pod, "echo one > /data/changing && echo two > /data/changing");
  expect(await textIn(store, bucket, "changing")).toBe("two\n");
  await cluster.exec(pod, "rm /data/changing");
  const { KeyCount } = await store.s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: "changing" }));
  expect(KeyCount).toBe(0);
}

async function largeDirectory({ cluster, pod, store, bucket }: TriedStore): Promise<void> {
  const count = 1100;
  const numbers = Array.from({ length: count }, (_, number) => number);
  const put = (number: number) =>
    store.s3.send(new PutObjectCommand({ Bucket: bucket, Key: `many/${number}`, Body: "x" }));
  await inParallel(numbers, put, 4);
  expect(Number(await cluster.exec(pod, "ls /data/many | wc -l"))).toBe(count);
}

async function healing({ cluster, node, claim, pod, store, bucket }: TriedStore): Promise<void> {
  await store.s3.send(new PutObjectCommand({ Bucket: bucket, Key: "lasting", Body: "lasting" }));
  await killMountS3(cluster, node, claim);
  await vi.waitFor(async () => expect(await cluster.exec(pod, "cat /data/lasting")).toBe("lasting"), long);
  expect(await filesOfBothSides(cluster, pod, { store, bucket })).toEqual(bothWays);
}

async function newKeys({ cluster, pod, store, bucket, secret, recorder }: TriedStore): Promise<void> {
  await using before = await store.newAccount(bucket);
  await using after = await store.newAccount(bucket);
  await using _usual = { [Symbol.asyncDispose]: () => cluster.apply(secretManifest(secret, store.account)) };
  for (const keys of [before, after]) {
    await cluster.apply(secretManifest(secret, keys));
    await untilKeyInUse(cluster, { pod, bucket, recorder }, keys.accessKeyId);
  }
  await before.revoke();
  expect(await filesOfBothSides(cluster, pod, { store, bucket })).toEqual(bothWays);
}

async function claimOfClass({ cluster, sandbox, node, store }: TriedStore): Promise<void> {
  await using own = await cluster.sandbox();
  await using claims = await Claims.ofClass(own, { mountOptions: ["allow-delete"], parameters: namedIn(store) });
  const volume = await claims.volume("data");
  const { bucketName = "" } = volume.spec.csi.volumeAttributes;
  expect(await bucketNames(store.s3)).toContain(bucketName);
  expect(sandbox.bucket).not.toBe(bucketName);
  const pod = await own.pod("writer", { node, claim: "data" });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/file");
  expect(await textIn(store, bucketName, "file")).toBe("hello\n");
  await cluster.exec(pod, "rm /data/file");
  await cluster.deletePod(pod);
  await claims.deleteVolume("data", volume);
  expect(await bucketNames(store.s3)).not.toContain(bucketName);
}

const purging = (store: LabStore) => ({ parameters: { deletePolicy: "purge", ...namedIn(store) } });

async function purge(tried: TriedStore): Promise<void> {
  await purged(tried, (bucketName) => keepVersions(tried.store.s3, bucketName));
}

/** It has no tags either: the name of the bucket proves whose it is. */
async function purgeWithoutVersions(tried: TriedStore): Promise<void> {
  await purged(tried, async () => undefined);
}

async function purged({ cluster, store }: TriedStore, prepare: (bucket: string) => Promise<unknown>): Promise<void> {
  await using own = await cluster.sandbox();
  await using claims = await Claims.ofClass(own, purging(store));
  const volume = await claims.volume("purged");
  const { bucketName = "" } = volume.spec.csi.volumeAttributes;
  await prepare(bucketName);
  for (const Body of ["first", "second"]) {
    await store.s3.send(new PutObjectCommand({ Bucket: bucketName, Key: "dir/a b+c", Body }));
  }
  await store.s3.send(new CreateMultipartUploadCommand({ Bucket: bucketName, Key: "unfinished" }));
  await claims.deleteVolume("purged", volume);
  expect(await bucketNames(store.s3)).not.toContain(bucketName);
}
