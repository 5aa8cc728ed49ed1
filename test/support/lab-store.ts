/** A store of the lab as tests of volumes see it, whichever it is. */
import { randomBytes } from "node:crypto";
import { GetObjectCommand, PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { expect, vi } from "vitest";
import { network } from "../../lab/layout.ts";
import { type Account, minioAccount, rootAccount } from "../../lab/s3.ts";
import type { Cluster, PodRef } from "./cluster.ts";
import type { MinioInLab } from "./minio-in-lab.ts";
import { newAccount, type TemporaryAccount } from "./s3-accounts.ts";
import type { S3Recorder } from "./s3-recorder.ts";

export interface LabStore {
  /** As the driver knows it; undefined: the default store. */
  readonly name: string | undefined;
  /** Where it listens in the network of the lab. */
  readonly port: number;
  /** May do everything with every bucket, or with those that it has made. */
  readonly account: Account;
  readonly s3: S3Client;
  /** May do everything with these buckets, and make others. */
  newAccount(...buckets: readonly string[]): Promise<TemporaryAccount>;
}

export function versitygwStore(cluster: Cluster): LabStore {
  return {
    name: undefined,
    port: network.s3Port,
    account: rootAccount,
    s3: cluster.s3,
    newAccount: () => newAccount(cluster),
  };
}

export function minioStore(minio: MinioInLab): LabStore {
  return {
    name: "minio",
    port: network.minioPort,
    account: minioAccount,
    s3: minio.s3,
    newAccount: () => minio.newAccount(),
  };
}

/** In a PersistentVolume or in a StorageClass. */
export function namedIn({ name }: LabStore): Readonly<Record<string, string>> {
  return name === undefined ? {} : { store: name };
}

export async function textIn({ s3 }: LabStore, bucket: string, key: string): Promise<string | undefined> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  return await Body?.transformToString();
}

/** What `filesOfBothSides` gives where the volume is what the bucket is. */
export const bothWays = { inBucket: "from the Pod\n", inPod: "into the bucket" } as const;

/** The Pod writes a file and reads an object, under names that nothing has had before. */
export async function filesOfBothSides(
  cluster: Cluster,
  pod: PodRef,
  { store, bucket }: { readonly store: LabStore; readonly bucket: string },
): Promise<{ readonly inBucket: string | undefined; readonly inPod: string }> {
  const name = `${pod.name}-${randomBytes(4).toString("hex")}`;
  await cluster.exec(pod, `echo "from the Pod" > /data/from-${name}`);
  const inBucket = await textIn(store, bucket, `from-${name}`);
  await store.s3.send(new PutObjectCommand({ Bucket: bucket, Key: `to-${name}`, Body: bothWays.inPod }));
  return { inBucket, inPod: await cluster.exec(pod, `cat /data/to-${name}`) };
}

/** Makes mount-s3 ask its store until it does so with these keys. */
export async function untilKeyInUse(
  cluster: Cluster,
  { pod, bucket, recorder }: { readonly pod: PodRef; readonly bucket: string; readonly recorder: S3Recorder },
  accessKeyId: string,
): Promise<void> {
  const inUse = async () => {
    await cluster.exec(pod, "ls /data");
    expect(recorder.keysUsedOn(bucket).at(-1)).toBe(accessKeyId);
  };
  await vi.waitFor(inUse, { timeout: 300_000, interval: 500 });
}
