/** Whether a volume's data may be removed with it: only where tags, names and PersistentVolumes all say that it is the volume's (DS-12). */
import { type Gap, gapInTags, type Tags } from "./bucket-tags.ts";
import { isPlaceOf, type Place } from "./dynamic-volume.ts";

export interface PurgeCase {
  readonly place: Place;
  /** The PersistentVolume that is deleted; undefined: none has the handle, and the bucket's tags alone speak for it. */
  readonly volume: string | undefined;
  /** Other PersistentVolumes with the same handle, or with data in the same place. */
  readonly others: readonly string[];
  /** undefined: the store keeps none. */
  readonly tags: Tags | "unreadable" | undefined;
  readonly cluster: string | undefined;
}

/** What is missing to the proof; undefined: nothing. */
export function gapInProof({ place, volume, others, tags, cluster }: PurgeCase): Gap | undefined {
  const [other] = others;
  if (other !== undefined) {
    return { because: `PersistentVolume ${other} uses the data, too`, fix: "Delete that PersistentVolume first." };
  }
  if (volume !== undefined && !isPlaceOf(place, volume)) {
    const fix = "If the data may go, remove it yourself; the deletion is repeated.";
    return { because: `volume_handle ${place.id} was not made for PersistentVolume ${volume}`, fix };
  }
  // The bucket of a prefix belongs to others, and its tags say nothing of the volume.
  if (place.prefix !== undefined || tags === undefined) return volume === undefined ? nothingProves : undefined;
  if (tags === "unreadable") {
    const fix = "Give the account of the Secret the right s3:GetBucketTagging; the deletion is repeated.";
    return { because: "the tags of the bucket, which say whose it is, cannot be read", fix };
  }
  return gapInTags(tags, place, cluster);
}

const nothingProves: Gap = {
  because: "no PersistentVolume and no tag says whose the data is",
  fix: "If the data may go, remove it yourself; the deletion is repeated.",
};
