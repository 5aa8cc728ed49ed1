/** DeleteVolume: answers OK only when the data is gone, never existed, or stays on purpose. */

import { DriverError } from "../core/errors.ts";
import type { DeleteVolumeRequest } from "../csi/gen/csi.ts";
import { type Call, withFields } from "../runtime/call.ts";
import type { BucketActions, CsiControllerParts, Kept } from "./csi-controller-parts.ts";
import { deletePolicyIn, otherOwner, type Tags, tagsWhenKept } from "./domain/bucket-tags.ts";
import { type Place, placeFrom } from "./domain/dynamic-volume.ts";
import { gapInProof } from "./domain/purge-proof.ts";
import { type DeletePolicy, defaultDeletePolicy, deletePolicyFrom, strictest } from "./domain/storage-class.ts";
import type { KnownVolume, VolumesOfPlace } from "./known-volumes.ts";
import { bringsKeys, type Secrets } from "./secrets/access.ts";
import { unlessMissing } from "./unless-missing.ts";

export async function deleteVolume(call: Call, parts: CsiControllerParts, request: DeleteVolumeRequest): Promise<void> {
  const { volumeId, secrets } = request;
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  const place = placeFrom(volumeId);
  if (place === undefined) {
    call.log.info("no volume of this id was ever made here: nothing is deleted", { volume: volumeId });
    return;
  }
  using _ = parts.inFlight.enter(place.id);
  const volumes = await parts.volumes.ofPlace(call, place);
  const telling = withFields(call, { volume: place.id, bucket: place.bucket });
  const kept = await removeData(telling, parts, { place, volumes, cluster: () => parts.clusterId(call) }, secrets);
  if (kept === undefined) telling.log.info("volume deleted");
  else await parts.reports.kept(telling, { ...place, because: kept, volume: volumes.volume });
}

/** Gives the reason why data stays; undefined: nothing is left. */
async function removeData(
  call: Call,
  parts: CsiControllerParts,
  deletion: Deletion,
  secrets: Secrets,
): Promise<Kept["because"] | undefined> {
  const { place, volumes } = deletion;
  const { volume } = volumes;
  if (!bringsKeys(secrets) && volume?.deletionSecret !== undefined) {
    // What stays in any case needs no credentials, but for a tag that it can do without (PR-11).
    if (policyOf(volumes) === "retain") return "policy";
    throw noSecret(volume);
  }
  const buckets = parts.store.as(await parts.access(call, secrets, volume?.region));
  const kept = await unlessMissing(remove(call, buckets, deletion));
  if (kept !== undefined && place.prefix === undefined) await unlessMissing(markKept(call, buckets, place, kept));
  return kept;
}

/** csi-provisioner goes on without a Secret that it does not find. With other credentials nobody could tell whether the bucket is gone. */
function noSecret({ deletionSecret, name }: KnownVolume): DriverError {
  const problem = `Secret ${deletionSecret} of PersistentVolume ${name} does not exist, or access_key_id is missing in it`;
  return new DriverError("invalid", `${problem}: the bucket cannot be deleted`, {
    hint: "Make the Secret with keys that may delete the bucket; the keys of the driver do not stand in for it.",
  });
}

/** Without the tag the search for buckets without a volume would report it. */
async function markKept(call: Call, buckets: BucketActions, { bucket }: Place, because: Kept["because"]) {
  const answer = await orUnreadable(buckets.tags(call, bucket));
  const tags = answer.kind === "read" ? tagsWhenKept(answer.tags, because) : undefined;
  if (tags !== undefined) await buckets.setTags(call, bucket, tags);
}

interface Deletion {
  readonly place: Place;
  readonly volumes: VolumesOfPlace;
  readonly cluster: () => Promise<string | undefined>;
}

/** undefined: nothing is left. */
async function remove(call: Call, buckets: BucketActions, deletion: Deletion): Promise<Kept["because"] | undefined> {
  const { place } = deletion;
  const { policy, tags } = await policyFor(call, buckets, deletion);
  if (policy === "retain") return "policy";
  if (policy === "purge") await purge(call, buckets, deletion, tags);
  if (!(await isLeft(call, buckets, place))) return undefined;
  if (policy === "delete-if-empty") return "notEmpty";
  if (policy === "purge")
    throw new DriverError("notReady", `a client wrote into ${nameOf(place)} while it was emptied`);
  throw new DriverError("inUse", `${nameOf(place)} still holds data`, {
    hint: "Its deletePolicy is refuse-until-empty: remove the objects, with all versions and unfinished uploads.",
  });
}

async function isLeft(call: Call, buckets: BucketActions, { bucket, prefix }: Place): Promise<boolean> {
  if (prefix !== undefined) return await buckets.holdsData(call, bucket, prefix);
  return (await buckets.deleteIfEmpty(call, bucket)) === "notEmpty";
}

/** Tags: undefined where the store keeps none, or where they are not asked for. */
interface Findings {
  readonly policy: DeletePolicy;
  readonly tags: Tags | "unreadable" | undefined;
}

/** The policy is written on the volume and on its bucket; someone may have changed either. The one that keeps more data wins. */
async function policyFor(call: Call, buckets: BucketActions, { place, volumes }: Deletion): Promise<Findings> {
  const onVolumes = policyOf(volumes);
  // Retained data is not looked at, and a prefix has no tags.
  if (onVolumes === "retain") return { policy: onVolumes, tags: undefined };
  if (place.prefix !== undefined) return { policy: onVolumes ?? defaultDeletePolicy, tags: undefined };
  const tags = await tagsOf(call, buckets, place);
  const onBucket = tags === undefined || tags === "unreadable" ? undefined : deletePolicyIn(tags);
  const written = [onVolumes, onBucket].filter((each) => each !== undefined);
  return { policy: strictest(written) ?? defaultDeletePolicy, tags };
}

/** undefined: no PersistentVolume has the handle. What it says and we do not know must not be guessed at. */
function policyOf({ volume, duplicates }: VolumesOfPlace): DeletePolicy | undefined {
  const all = volume === undefined ? [] : [volume, ...duplicates];
  return strictest(all.map(({ deletePolicy = "" }) => deletePolicyFrom(deletePolicy) ?? defaultDeletePolicy));
}

/** undefined: the store keeps none. A bucket of another volume is left alone, even if it is empty. */
async function tagsOf(call: Call, buckets: BucketActions, place: Place): Promise<Findings["tags"]> {
  const answer = await orUnreadable(buckets.tags(call, place.bucket));
  if (answer.kind === "unsupported") return undefined;
  if (answer.kind !== "read") return "unreadable";
  const owner = otherOwner(answer.tags, place);
  if (owner === undefined) return answer.tags;
  throw new DriverError("denied", `bucket ${place.bucket} is tagged as that of volume ${owner} and stays as it is`);
}

/** Volumes of 2.x were made without a look at tags: where the store refuses the request, they still can be deleted. */
async function orUnreadable<Answer>(answer: Promise<Answer>): Promise<Answer | { readonly kind: "unreadable" }> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DriverError && error.kind === "invalid") return { kind: "unreadable" };
    throw error;
  }
}

/** Without proof nothing is removed, and what holds no data needs none. */
async function purge(
  call: Call,
  buckets: BucketActions,
  { place, volumes, cluster }: Deletion,
  tags: Findings["tags"],
): Promise<void> {
  const others = [...volumes.duplicates, ...volumes.sharers].map(({ name }) => name);
  const gap = gapInProof({ place, volume: volumes.volume?.name, others, tags, cluster: await cluster() });
  if (gap === undefined) {
    await buckets.empty(call, place.bucket, place.prefix);
    return;
  }
  if (!(await buckets.holdsData(call, place.bucket, place.prefix))) return;
  const problem = `deletePolicy is purge, but it is not proven that ${nameOf(place)} holds data of this volume only`;
  throw new DriverError("denied", `${problem}: ${gap.because}. Nothing was deleted`, { hint: gap.fix });
}

function nameOf({ bucket, prefix }: Place): string {
  return prefix === undefined ? `bucket ${bucket}` : `${prefix} of bucket ${bucket}`;
}
