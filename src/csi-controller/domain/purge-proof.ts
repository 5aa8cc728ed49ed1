/** Whether `deletePolicy: purge` may remove data: only if bucket tags, names and PersistentVolumes agree on its owner (DS-12). */
import { type BucketLocation, wasCreatedFor } from "./bucket-location.ts";
import { type MissingProof, missingTagProof, type Tags } from "./bucket-tags.ts";

export interface PurgeCase {
  readonly location: BucketLocation;
  /** Name of the PersistentVolume that is deleted; undefined: none has the handle, and only the bucket's tags prove ownership. */
  readonly volume: string | undefined;
  /** Names of other PersistentVolumes with the same handle, or with data at the same location. */
  readonly others: readonly string[];
  /** undefined: the store has no tags. */
  readonly tags: Tags | "unreadable" | undefined;
  readonly cluster: string | undefined;
}

/** undefined: the data may be removed. */
export function missingProof({ location, volume, others, tags, cluster }: PurgeCase): MissingProof | undefined {
  const [other] = others;
  if (other !== undefined) {
    return { reason: `PersistentVolume ${other} uses the same data`, fix: "Delete that PersistentVolume first." };
  }
  if (volume !== undefined && !wasCreatedFor(location, volume)) {
    return {
      reason: `volumeHandle ${location.volumeId} was not created for PersistentVolume ${volume}`,
      fix: removeData,
    };
  }
  // The tags of a shared bucket say nothing about the volume of one prefix.
  if (location.prefix !== undefined || tags === undefined) {
    if (volume !== undefined) return undefined;
    return { reason: "no PersistentVolume and no tag names the owner of the data", fix: removeData };
  }
  if (tags === "unreadable") {
    const fix = "Grant the account in the Secret s3:GetBucketTagging; csi-provisioner repeats the deletion.";
    return { reason: "the driver cannot read the bucket's tags, which name its owner", fix };
  }
  return missingTagProof(tags, location, cluster);
}

const removeData = "If the data may be deleted, remove it yourself; csi-provisioner repeats the deletion.";
