/**
 * Where the data of a dynamic volume lies: volume ID, store, bucket and prefix. Of a CreateVolume request, only the name and the parameters
 * make a difference, so a repeated CreateVolume finds the bucket of the first attempt.
 */
import { createHash } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import type { VolumeId } from "../../core/names.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import { parameterRefusal } from "./parameter-refusal.ts";

/** Bucket settings of a StorageClass. Their JSON is part of the digest in the bucket's tags: do not rename fields or kinds. */
export type BucketOptions =
  /** One bucket per volume, named like the volume. */
  | { readonly kind: "own" }
  /** One bucket per volume, whose name starts with `bucketNamePrefix`. */
  | { readonly kind: "named"; readonly prefix: string }
  /**
   * One prefix per volume in an existing bucket (`sharedBucket`). `below` comes before the part that belongs to the volume alone, and ends
   * with a slash (`sharedBucketPrefix`).
   */
  | { readonly kind: "shared"; readonly bucket: string; readonly below?: string };

export interface BucketLocation {
  readonly volumeId: VolumeId;
  readonly store: StoreName;
  readonly bucket: string;
  /** undefined: the bucket belongs to this volume alone and is deleted with it. */
  readonly prefix: string | undefined;
}

const idPrefix = "csi-s3-";
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.source;

/**
 * After a rollback, DeleteVolume of 2.x deletes the bucket whose name equals the volume ID. A volume ID is therefore a valid bucket
 * name only if that bucket is on the default store and belongs to the volume. Every other volume ID contains slashes or an `@`, which no
 * bucket name contains, and starts with a name that no bucket has there, or ends with the store.
 */
const separators = { named: "/bucket/", shared: "/prefix-in/" } as const;

/** The end of a volume ID, which names the store; volumes of the default store have IDs as before. */
function suffixFor(store: StoreName): string {
  return store === defaultStore ? "" : `@${store}`;
}

/** `requestName` is the name in the CreateVolume request, which becomes the name of the PersistentVolume. */
export function locationFor(requestName: string, options: BucketOptions, store = defaultStore): BucketLocation {
  const base = `${idPrefix}${uuidOf(requestName)}`;
  const suffix = suffixFor(store);
  switch (options.kind) {
    case "own":
      return { volumeId: `${base}${suffix}` as VolumeId, store, bucket: base, prefix: undefined };
    case "named": {
      const longest = maxVolumeIdLength - `${base}${separators.named}${suffix}`.length;
      const bucket = bucketName(options.prefix, requestName, Math.min(maxBucketNameLength, longest));
      return { volumeId: `${base}${separators.named}${bucket}${suffix}` as VolumeId, store, bucket, prefix: undefined };
    }
    case "shared": {
      const { bucket, below = "" } = options;
      const volumeId = `${base}${separators.shared}${bucket}${suffix}` as VolumeId;
      if (volumeId.length > maxVolumeIdLength) throw tooLong(bucket, volumeId.length - maxVolumeIdLength);
      return { volumeId, store, bucket, prefix: `${below}${base}/` };
    }
    default:
      return options satisfies never;
  }
}

/** CSI limits volume IDs to 128 bytes. Only a named store and a shared bucket, both with long names, are too long together. */
const maxVolumeIdLength = 128;

function tooLong(bucket: string, excess: number): DriverError {
  const problem = `${bucket} and the name of the store are too long together by ${excess} characters`;
  return parameterRefusal("sharedBucket", problem, "use a bucket with a shorter name");
}

const idPattern = new RegExp(
  `^(${idPrefix}${uuid})(?:(${separators.named}|${separators.shared})([^/@]+))?(?:@([a-z0-9][-a-z0-9]*))?$`,
);

/** undefined: neither this driver nor 2.x ever assigned such a volume ID. The store may not be listed any more. */
export function parseVolumeId(id: string): BucketLocation | undefined {
  const [, base, separator, bucket, store = defaultStore] = idPattern.exec(id) ?? [];
  if (base === undefined) return undefined;
  const prefix = separator === separators.shared ? `${base}/` : undefined;
  return { volumeId: id as VolumeId, store: store as StoreName, bucket: bucket ?? base, prefix };
}

/**
 * The location of a volume whose PersistentVolume has this attribute `prefix`. What `sharedBucketPrefix` adds is too long for volume IDs;
 * the rest of the prefix still identifies the volume, so an edited attribute cannot lead to the data of another.
 */
export function withPrefixOf(location: BucketLocation, attribute: string | undefined): BucketLocation {
  const { prefix } = location;
  return prefix !== undefined && attribute?.endsWith(`/${prefix}`) ? { ...location, prefix: attribute } : location;
}

/** Whether CreateVolume with this request name, and with no other, returns this volume ID and this bucket or prefix. */
export function wasCreatedFor(location: BucketLocation, requestName: string): boolean {
  const baseId = baseVolumeId(location.volumeId);
  if (baseId !== locationFor(requestName, { kind: "own" }).volumeId) return false;
  // The base volume ID is the end of the prefix. A bucket name with `bucketNamePrefix` ends with a digest of the request name.
  return (
    location.prefix !== undefined || location.bucket === baseId || location.bucket.endsWith(`-${suffixOf(requestName)}`)
  );
}

/** Base volume ID, without bucket or prefix suffix: the same for every StorageClass. undefined: not a volume ID. */
export function baseVolumeId(id: string): string | undefined {
  return idPattern.exec(id)?.[1];
}

/** Version 5 UUIDs only: 2.x uses version 4 UUIDs, and its bucket names contain nothing else to recognise them by. */
const namePattern = /^csi-s3-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$|-[0-9a-f]{16}$/;

/** Whether this version of the driver may have created a bucket of this name. */
export function mayBeVolumeBucket(bucket: string): boolean {
  return namePattern.test(bucket);
}

/** Length of the digest after `bucketNamePrefix`, which keeps the buckets of different claims and clusters apart. */
const suffixDigits = 16;
const maxBucketNameLength = 63;

/**
 * Invalid characters are replaced and long prefixes are cut instead of refused: 2.x ignored `bucketNamePrefix`, and StorageClasses
 * of 2.x that set it must go on provisioning. Dots are replaced, because wildcard certificates do not cover them.
 */
function bucketName(prefix: string, requestName: string, maxLength: number): string {
  const suffix = suffixOf(requestName);
  const readable = prefix
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxLength - suffixDigits - 1)
    .replaceAll(/^-|-$/g, "");
  return readable === "" ? `${idPrefix}${suffix}` : `${readable}-${suffix}`;
}

function suffixOf(requestName: string): string {
  return createHash("sha256").update(requestName).digest("hex").slice(0, suffixDigits);
}

/** Namespace for version 5 UUIDs. A constant of this driver: changing it changes the volume ID of every request. */
const namespace = Buffer.from("7d3c6f0a51e24b0f9a8c2f6f1be0d9a4", "hex");

/** A version 5 UUID: equal names give equal UUIDs. */
function uuidOf(requestName: string): string {
  if (requestName === "") throw new DriverError("invalid", "name is required");
  const bytes = createHash("sha1").update(namespace).update(requestName).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
