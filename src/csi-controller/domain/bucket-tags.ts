/** Tags that the driver writes on buckets: which volume and cluster a bucket belongs to, and what CreateVolume asked for. */
import { createHash } from "node:crypto";
import { driverName } from "../../core/names.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { type BucketLocation, baseVolumeId, parseVolumeId } from "./bucket-location.ts";
import { type ClassParameters, type DeletePolicy, deletePolicyFrom } from "./storage-class.ts";

export type Tags = Readonly<Record<string, string>>;

/** On a bucket that is kept although its volume is deleted. Operators may set it, too. */
export const keptTag = `${driverName}/kept`;

const tagKeys = {
  volumeId: `${driverName}/volume-id`,
  volumeName: `${driverName}/pv-name`,
  claim: `${driverName}/claim`,
  cluster: `${driverName}/cluster`,
  capacity: `${driverName}/capacity`,
  parameters: `${driverName}/parameters`,
  deletePolicy: `${driverName}/delete-policy`,
} as const;

/** A CreateVolume request, reduced to what makes two requests of the same name compatible or not. */
export interface VolumeSpec {
  readonly name: string;
  readonly location: BucketLocation;
  readonly parameters: ClassParameters;
  readonly capacity: CapacityRange;
  /** UID of the namespace kube-system, which keeps clusters apart that use the same account; undefined: no right to read it. */
  readonly cluster: string | undefined;
}

/** In bytes; limit 0 means no limit. */
export interface CapacityRange {
  readonly required: bigint;
  readonly limit: bigint;
}

/** S3 buckets have no size, so the reported capacity is the requested one: required bytes, or 1 GiB as in 2.x. */
export function capacityOf({ required, limit }: CapacityRange): bigint {
  const gibibyte = 1n << 30n;
  if (required > 0n) return required;
  return limit > 0n && limit < gibibyte ? limit : gibibyte;
}

export function tagsFor({ name, location, parameters, capacity, cluster }: VolumeSpec): Tags {
  const { claim } = parameters;
  return {
    ...parameters.tags,
    [tagKeys.volumeId]: location.volumeId,
    // CSI allows request names that no tag value allows. csi-provisioner sends the name of the PersistentVolume, which fits.
    ...(/^[-.\w]{1,256}$/.test(name) && { [tagKeys.volumeName]: name }),
    ...(claim && { [tagKeys.claim]: `${claim.namespace}/${claim.name}`.slice(0, 256) }),
    ...(cluster && { [tagKeys.cluster]: cluster }),
    [tagKeys.capacity]: `${capacityOf(capacity)}`,
    [tagKeys.parameters]: digestOf(parameters),
    [tagKeys.deletePolicy]: parameters.deletePolicy,
  };
}

export type TagComparison =
  /** No tags of the driver: an earlier attempt was interrupted, or the store has no tags. */
  | { readonly kind: "untagged" }
  | { readonly kind: "same"; readonly capacityBytes: bigint }
  /** Created for this volume, by a request with other parameters or another size. */
  | { readonly kind: "differs"; readonly reason: string }
  /** Created for another volume. */
  | { readonly kind: "foreign"; readonly reason: string };

/** Whether an existing bucket is the one that `spec` asks for. `reason` completes the sentence "the bucket …". */
export function compareTags(tags: Tags, spec: VolumeSpec): TagComparison {
  const owner = tags[tagKeys.volumeId];
  if (owner === undefined) return { kind: "untagged" };
  if (owner !== spec.location.volumeId) return { kind: "foreign", reason: `belongs to volume ${owner}` };
  if (tags[tagKeys.parameters] !== digestOf(spec.parameters)) {
    return { kind: "differs", reason: "was created with other StorageClass parameters" };
  }
  const capacityBytes = BigInt(/^\d+$/.exec(tags[tagKeys.capacity] ?? "")?.[0] ?? capacityOf(spec.capacity));
  if (fits(capacityBytes, spec.capacity)) return { kind: "same", capacityBytes };
  return { kind: "differs", reason: `was created with a capacity of ${capacityBytes} bytes` };
}

/** undefined: no such tag, or a value that this version does not know. */
export function deletePolicyIn(tags: Tags): DeletePolicy | undefined {
  return deletePolicyFrom(tags[tagKeys.deletePolicy] ?? "");
}

/** The ID of another volume that the bucket belongs to by its tags; undefined: there is none. */
export function otherOwner(tags: Tags, { volumeId }: BucketLocation): string | undefined {
  const owner = tags[tagKeys.volumeId];
  return owner === volumeId ? undefined : owner;
}

/** Why `purge` must not remove data. */
export interface MissingProof {
  /** A clause that follows a colon, without a full stop. */
  readonly reason: string;
  readonly fix: string;
}

/**
 * undefined: the tags prove that the bucket was created for this volume of this cluster. A cluster that was restored from a backup
 * has the same volumes and another UID. `cluster` is undefined if the driver has no right to read the UID.
 */
export function missingTagProof(
  tags: Tags,
  { volumeId }: BucketLocation,
  cluster: string | undefined,
): MissingProof | undefined {
  if (cluster === undefined) {
    const fix = "Install the chart of this version, which grants get on the namespace kube-system.";
    return {
      reason: "the driver has no right to read the UID of the namespace kube-system, which identifies the cluster",
      fix,
    };
  }
  const set = `set the tags ${tagKeys.volumeId}=${volumeId} and ${tagKeys.cluster}=${cluster} on the bucket`;
  const fix = `If the data may be deleted, ${set}, or empty the bucket; csi-provisioner repeats the deletion.`;
  if (tags[tagKeys.volumeId] !== volumeId) {
    return { reason: `no tag ${tagKeys.volumeId} of the bucket names this volume`, fix };
  }
  const other = tags[tagKeys.cluster];
  if (other === undefined) return { reason: `no tag ${tagKeys.cluster} of the bucket names this cluster`, fix };
  if (other !== cluster) return { reason: `its tag ${tagKeys.cluster} names another cluster, ${other}`, fix };
  return undefined;
}

/** The tags of a bucket that is kept when its volume is deleted; undefined: it has no tags of the driver. */
export function tagsWhenKept(tags: Tags, reason: string): Tags | undefined {
  return tags[tagKeys.volumeId] === undefined ? undefined : { ...tags, [keptTag]: reason };
}

/** What name and tags say about a bucket that no PersistentVolume uses. */
export type BucketOrigin =
  /** Created for a volume of this cluster. */
  | { readonly kind: "volume"; readonly baseVolumeId: string; readonly claim: string | undefined }
  /** Named like the bucket of a volume, without tags of the driver (yet). */
  | { readonly kind: "untagged"; readonly baseVolumeId: string }
  /** Of another cluster or of another name of the store, or kept on purpose. This never changes. */
  | { readonly kind: "accountedFor" }
  /** Not created by this driver. */
  | { readonly kind: "foreign" };

/** `found`: where the bucket is. One store may be listed under several names, with different accounts. */
export function originOf(
  bucket: string,
  tags: Tags,
  found: { readonly store: StoreName; readonly cluster: string },
): BucketOrigin {
  if (tags[keptTag] !== undefined) return { kind: "accountedFor" };
  const volumeId = tags[tagKeys.volumeId];
  const baseId = baseVolumeId(volumeId ?? bucket);
  if (baseId === undefined) return { kind: "foreign" };
  if (volumeId === undefined) return { kind: "untagged", baseVolumeId: baseId };
  if (tags[tagKeys.cluster] !== found.cluster) return { kind: "accountedFor" };
  if (parseVolumeId(volumeId)?.store !== found.store) return { kind: "accountedFor" };
  return { kind: "volume", baseVolumeId: baseId, claim: tags[tagKeys.claim] };
}

function fits(bytes: bigint, { required, limit }: CapacityRange): boolean {
  return bytes >= required && (limit === 0n || bytes <= limit);
}

/** Covers the parameters that the driver knows; unknown ones make no difference. */
function digestOf({ bucket, region, deletePolicy, tags }: ClassParameters): string {
  const sorted = Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([bucket, region ?? null, deletePolicy, sorted]))
    .digest("hex");
}
