/** DeleteVolume: says yes only when the data is gone, never was, or stays on purpose. */
import { belongsToAnother, deletePolicyIn, tagsWhenKept } from "../core/bucket-tags.ts";
import { type Place, placeFrom } from "../core/dynamic-volume.ts";
import { DriverError } from "../core/errors.ts";
import { type DeletePolicy, defaultDeletePolicy, deletePolicyFrom } from "../core/storage-class.ts";
import type { DeleteVolumeRequest } from "../csi/gen/csi.ts";
import { type Call, withFields } from "../runtime/call.ts";
import { bringsKeys } from "./access.ts";
import type { KnownVolume } from "./known-volumes.ts";
import type { BucketActions, Kept, ProvisionerParts } from "./provisioner-parts.ts";
import { unlessMissing } from "./unless-missing.ts";

export async function deleteVolume(call: Call, parts: ProvisionerParts, request: DeleteVolumeRequest): Promise<void> {
  const { volumeId, secrets } = request;
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  const place = placeFrom(volumeId);
  if (place === undefined) {
    call.log.info("no volume of this id was ever made here: nothing is deleted", { volume: volumeId });
    return;
  }
  using _ = parts.inFlight.enter(place.id);
  const volume = await parts.volumes.byHandle(call, place.id);
  if (!bringsKeys(secrets)) refuseWithoutSecret(volume);
  const buckets = parts.store.as(await parts.access(call, secrets, volume?.region));
  const telling = withFields(call, { volume: place.id, bucket: place.bucket });
  const kept = await unlessMissing(remove(telling, buckets, place, volume));
  if (kept === undefined) {
    telling.log.info("volume deleted");
    return;
  }
  if (place.prefix === undefined) await unlessMissing(markKept(telling, buckets, place, kept));
  await parts.reports.kept(telling, { ...place, because: kept, volume });
}

/** The provisioner goes on without a Secret that it does not find. With other keys nobody could tell whether the bucket is gone. */
function refuseWithoutSecret(volume: KnownVolume | undefined): void {
  if (!volume?.deletionSecret) return;
  const problem = `Secret ${volume.deletionSecret} of PersistentVolume ${volume.name} does not exist, or access_key_id is missing in it`;
  throw new DriverError("invalid", `${problem}: the bucket cannot be deleted`, {
    hint: "Make the Secret with keys that may delete the bucket; the keys of the driver do not stand in for it.",
  });
}

/** Else it would be taken for one that was forgotten. */
async function markKept(call: Call, buckets: BucketActions, { bucket }: Place, because: Kept["because"]) {
  const tags = tagsWhenKept((await buckets.tags(call, bucket)) ?? {}, because);
  if (tags !== undefined) await buckets.setTags(call, bucket, tags);
}

/** undefined: nothing is left. */
async function remove(
  call: Call,
  buckets: BucketActions,
  place: Place,
  volume: KnownVolume | undefined,
): Promise<Kept["because"] | undefined> {
  const policy = await policyFor(call, buckets, place, volume);
  if (policy === "retain") return "policy";
  if (policy === "purge") {
    await buckets.empty(call, place.bucket, place.prefix);
  }
  const left =
    place.prefix === undefined ? await leftOfBucket(call, buckets, place) : await leftOfPrefix(call, buckets, place);
  if (!left) return undefined;
  if (policy === "delete-if-empty") return "notEmpty";
  const what = place.prefix === undefined ? `bucket ${place.bucket}` : `${place.prefix} of bucket ${place.bucket}`;
  if (policy === "purge") throw new DriverError("notReady", `somebody wrote into ${what} while it was emptied`);
  throw new DriverError("inUse", `${what} still holds data`, {
    hint: "Its deletePolicy is refuse-until-empty: remove the objects, with all versions and unfinished uploads.",
  });
}

async function leftOfBucket(call: Call, buckets: BucketActions, { bucket }: Place): Promise<boolean> {
  return (await buckets.deleteIfEmpty(call, bucket)) === "notEmpty";
}

async function leftOfPrefix(call: Call, buckets: BucketActions, { bucket, prefix = "" }: Place): Promise<boolean> {
  return await buckets.holdsData(call, bucket, prefix);
}

/** The volume knows best; without it, the bucket does; and if neither says anything, no data is ever removed. */
async function policyFor(
  call: Call,
  buckets: BucketActions,
  place: Place,
  volume: KnownVolume | undefined,
): Promise<DeletePolicy> {
  const said = volume && (deletePolicyFrom(volume.deletePolicy ?? "") ?? defaultDeletePolicy);
  if (place.prefix !== undefined) return said ?? defaultDeletePolicy;
  // A bucket that is not emptied needs no proof: only empty ones are deleted.
  return said === undefined || said === "purge" ? await policyOnBucket(call, buckets, place, said) : said;
}

async function policyOnBucket(
  call: Call,
  buckets: BucketActions,
  place: Place,
  said: DeletePolicy | undefined,
): Promise<DeletePolicy> {
  const tags = (await buckets.tags(call, place.bucket)) ?? {};
  if (belongsToAnother(tags, place)) {
    throw new DriverError("denied", `bucket ${place.bucket} is marked as that of another volume and stays as it is`);
  }
  return said ?? deletePolicyIn(tags) ?? defaultDeletePolicy;
}
