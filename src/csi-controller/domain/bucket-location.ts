/** Where a dynamic volume lies, as a function of the request's name: a call that is repeated meets its own bucket again. */
import { createHash } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import type { VolumeId } from "../../core/names.ts";

/** What a StorageClass says about the bucket of a claim. */
export type BucketWish =
  /** One of its own, named like the volume. */
  | { readonly kind: "own" }
  /** One of its own, whose name begins with a text that people recognise. */
  | { readonly kind: "named"; readonly prefix: string }
  /** Objects below a prefix of its own in a bucket that somebody else made. */
  | { readonly kind: "shared"; readonly bucket: string };

export interface Place {
  readonly id: VolumeId;
  readonly bucket: string;
  /** undefined: the bucket is the volume's own, and goes with it. */
  readonly prefix: string | undefined;
}

const idPrefix = "csi-s3-";
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.source;

/**
 * 2.x deletes the bucket that an id names, also after a rollback. So an id is the name of a bucket only where that bucket is
 * the volume's own; every other id has slashes, which no bucket name has, and begins with a name that no bucket has.
 */
const separators = { named: "/bucket/", shared: "/prefix-in/" } as const;

export function placeOf(requestName: string, wish: BucketWish): Place {
  const plain = `${idPrefix}${uuidOf(requestName)}`;
  switch (wish.kind) {
    case "own":
      return { id: plain as VolumeId, bucket: plain, prefix: undefined };
    case "named": {
      const bucket = bucketName(wish.prefix, requestName);
      return { id: `${plain}${separators.named}${bucket}` as VolumeId, bucket, prefix: undefined };
    }
    case "shared":
      return {
        id: `${plain}${separators.shared}${wish.bucket}` as VolumeId,
        bucket: wish.bucket,
        prefix: `${plain}/`,
      };
    default:
      return wish satisfies never;
  }
}

const idForm = new RegExp(`^(${idPrefix}${uuid})(?:(${separators.named}|${separators.shared})([^/]+))?$`);

/** undefined: not an id that this driver, or 2.x, ever gave to a volume. */
export function placeFrom(id: string): Place | undefined {
  const [, plain, separator, bucket] = idForm.exec(id) ?? [];
  if (plain === undefined) return undefined;
  const volumeId = id as VolumeId;
  if (bucket === undefined) return { id: volumeId, bucket: plain, prefix: undefined };
  return { id: volumeId, bucket, prefix: separator === separators.shared ? `${plain}/` : undefined };
}

/** Whether a volume of this name, and no other, has this id and lies in this bucket or prefix. */
export function isPlaceOf(place: Place, requestName: string): boolean {
  const ownId = ownIdOf(place.id);
  if (ownId !== placeOf(requestName, { kind: "own" }).id) return false;
  // A prefix is made from the id; a bucket with a readable name ends in a digest of the request's name.
  return place.prefix !== undefined || place.bucket === ownId || place.bucket.endsWith(`-${suffixOf(requestName)}`);
}

/** Base volume ID, without bucket or prefix suffix: the same for every class. */
export function ownIdOf(id: string): string | undefined {
  return idForm.exec(id)?.[1];
}

/** Those of 2.x have UUIDs of version 4, and nothing else to tell them by. */
const nameForm = /^csi-s3-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$|-[0-9a-f]{16}$/;

/** Whether this version of the driver may have made the bucket, going by its name. */
export function mayBeOfVolume(bucket: string): boolean {
  return nameForm.test(bucket);
}

/** Names made from a class get this behind them, so that no two claims of any cluster ever meet in one bucket. */
const suffixDigits = 16;
const longestBucketName = 63;

/**
 * The readable part is made to fit: classes of 2.x carry a `bucketNamePrefix` that was never looked at, and they must go on
 * provisioning. Dots would break certificates with a wildcard.
 */
function bucketName(prefix: string, requestName: string): string {
  const suffix = suffixOf(requestName);
  const readable = prefix
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, longestBucketName - suffixDigits - 1)
    .replaceAll(/^-|-$/g, "");
  return readable === "" ? `${idPrefix}${suffix}` : `${readable}-${suffix}`;
}

function suffixOf(requestName: string): string {
  return createHash("sha256").update(requestName).digest("hex").slice(0, suffixDigits);
}

/** Of this driver, for version 5 UUIDs; any constant would do. */
const namespace = Buffer.from("7d3c6f0a51e24b0f9a8c2f6f1be0d9a4", "hex");

/** Version 5: the same name always gives the same one. */
function uuidOf(requestName: string): string {
  if (requestName === "") throw new DriverError("invalid", "name is required");
  const bytes = createHash("sha1").update(namespace).update(requestName).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
