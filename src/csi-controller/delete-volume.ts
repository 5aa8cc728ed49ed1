/** DeleteVolume. Succeeds only if the data is gone, never existed, or is kept on purpose. */

import { DriverError } from "../core/errors.ts";
import { callFailures } from "../core/failures/call-failures.ts";
import type { InFlight } from "../core/in-flight.ts";
import type { Stores } from "../core/stores/store.ts";
import { storeOf } from "../core/stores/store-of.ts";
import type { DeleteVolumeRequest } from "../csi/gen/csi.ts";
import { type Call, withFields } from "../runtime/call.ts";
import { type Buckets, hasCredentials, type OpenBuckets, type Secrets } from "./buckets.ts";
import type { CachedVolume } from "./cached-volume.ts";
import type { ClusterId } from "./cluster-id.ts";
import { type BucketLocation, parseVolumeId } from "./domain/bucket-location.ts";
import { deletePolicyIn, otherOwner, type Tags, tagsWhenKept } from "./domain/bucket-tags.ts";
import { missingProof } from "./domain/purge-proof.ts";
import { type DeletePolicy, defaultDeletePolicy, deletePolicyFrom, strictest } from "./domain/storage-class.ts";
import type { KeptReason, ReportKeptData } from "./kept-data.ts";
import type { Installation } from "./stores/store-for-volume.ts";
import { unlessMissing } from "./unless-missing.ts";
import type { VolumeCache, VolumesAtLocation } from "./volume-cache.ts";

export interface DeleteDependencies {
  readonly installation: Pick<Installation, "stores">;
  readonly openBuckets: OpenBuckets;
  readonly volumes: Pick<VolumeCache, "atLocation" | "listedAtLocation">;
  readonly inFlight: InFlight;
  readonly clusterId: ClusterId;
  readonly reportKept: ReportKeptData;
}

export async function deleteVolume(
  call: Call,
  dependencies: DeleteDependencies,
  request: DeleteVolumeRequest,
): Promise<void> {
  const { volumeId, secrets } = request;
  const { volumes, inFlight, clusterId, reportKept } = dependencies;
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  const parsed = parseVolumeId(volumeId);
  if (parsed === undefined) {
    call.log.info("nothing to delete: the driver never assigned this volume ID", { volumeId });
    return;
  }
  using _ = inFlight.enter(parsed.volumeId);
  const found = await volumes.atLocation(call, parsed);
  const { location } = found;
  checkStore(dependencies.installation.stores, location, found.volume);
  const logged = withFields(call, {
    volume: found.volume?.name,
    volumeId: location.volumeId,
    bucket: location.bucket,
  });
  const volumesNow = () => volumes.listedAtLocation(logged, location);
  const deletion = { volumes: found, volumesNow, cluster: () => clusterId(call) };
  const reason = await removeData(logged, dependencies.openBuckets, deletion, secrets);
  if (reason === undefined) logged.log.info("deleted the volume");
  else reportKept(logged, { ...location, reason, volume: found.volume });
}

/**
 * Two stores can have buckets of one name. CreateVolume writes the same store into the ID and the PersistentVolume, and its address: a name
 * that stands for another store by now would have the data of the volume pass for deleted.
 */
function checkStore(stores: Stores, { volumeId, store }: BucketLocation, volume: CachedVolume | undefined): void {
  if (volume?.store === undefined) return;
  if (volume.store === store) {
    const found = storeOf(stores, { store, endpointUrl: volume.endpointUrl });
    // A store that is not listed is refused with the value to restore when its buckets are opened.
    if ("store" in found || found.field === "store") return;
    const problem = `${found.field} ${found.problem}`;
    throw new DriverError("invalid", `PersistentVolume ${volume.name}: ${problem}: nothing was deleted`, {
      hint: `In the chart's values: ${found.fix}.`,
    });
  }
  const problem = `PersistentVolume ${volume.name} is on store ${volume.store}, and its volumeHandle ${volumeId} is that of a volume on store ${store}`;
  throw new DriverError("invalid", `${problem}: nothing was deleted`, {
    hint: "If the PersistentVolume was created by hand, set its reclaim policy to Retain and delete it.",
  });
}

interface Deletion {
  readonly volumes: VolumesAtLocation;
  /** As the API server has them: the cache may lack one that was created in the last minutes. */
  readonly volumesNow: () => Promise<VolumesAtLocation>;
  readonly cluster: () => Promise<string | undefined>;
}

/** Returns the reason why data is kept; undefined: no data is left. */
async function removeData(
  call: Call,
  openBuckets: OpenBuckets,
  deletion: Deletion,
  secrets: Secrets,
): Promise<KeptReason | undefined> {
  const { volumes } = deletion;
  const { location, volume } = volumes;
  if (!hasCredentials(secrets) && volume?.deletionSecret !== undefined) {
    // `retain` needs credentials only to write the tag `kept`, which is optional (PR-11).
    if (policyOfVolumes(volumes) === "retain") return "policy";
    throw noSecret(volume);
  }
  const buckets = await openBuckets(call, { store: location.store, secrets, region: volume?.region });
  const reason = await unlessMissing(remove(call, buckets, deletion));
  if (reason !== undefined && location.prefix === undefined) {
    await unlessMissing(tagAsKept(call, buckets, location, reason));
  }
  return reason;
}

/**
 * csi-provisioner calls without secrets if it does not find the Secret. With the driver's credentials the store might answer that
 * the bucket does not exist, although it does in the account of the Secret.
 */
function noSecret({ deletionSecret, name }: CachedVolume): DriverError {
  const problem = `Secret ${deletionSecret} of PersistentVolume ${name} does not exist, or access_key_id is missing in it`;
  return new DriverError("invalid", `${problem}: the driver cannot delete the bucket`, {
    hint: "Create the Secret with credentials that may delete the bucket; the driver's credentials are not used in its place.",
  });
}

/** Without the tag, the search for orphaned buckets would report the bucket. */
async function tagAsKept(call: Call, buckets: Buckets, { bucket }: BucketLocation, reason: KeptReason) {
  const answer = await orUnreadable(buckets.tags(call, bucket));
  const tags = answer.kind === "read" ? tagsWhenKept(answer.tags, reason) : undefined;
  if (tags !== undefined) await buckets.setTags(call, bucket, tags);
}

/** Returns the reason why data is kept; undefined: no data is left. */
async function remove(call: Call, buckets: Buckets, deletion: Deletion): Promise<KeptReason | undefined> {
  const { location } = deletion.volumes;
  const { policy, tags } = await policyFor(call, buckets, deletion);
  if (policy === "retain") return "policy";
  if (policy === "purge") await purge(call, buckets, deletion, tags);
  if (!(await isLeft(call, buckets, location))) return undefined;
  if (policy === "delete-if-empty") return "notEmpty";
  if (policy === "purge") {
    throw new DriverError("notReady", `a client wrote to ${describe(location)} while the driver emptied it`, {
      hint: "Stop the client; the deletion is repeated.",
    });
  }
  throw new DriverError("inUse", `${describe(location)} still holds data`, {
    hint: "deletePolicy is refuse-until-empty: remove the objects, with all versions and unfinished uploads.",
  });
}

async function isLeft(call: Call, buckets: Buckets, { bucket, prefix }: BucketLocation): Promise<boolean> {
  if (prefix !== undefined) return await buckets.holdsData(call, bucket, prefix);
  return (await buckets.deleteIfEmpty(call, bucket)) === "notEmpty";
}

interface PolicyAndTags {
  readonly policy: DeletePolicy;
  /** undefined: the store has no tags, or the policy needs none. */
  readonly tags: Tags | "unreadable" | undefined;
}

/** The policy is recorded on the PersistentVolume and on the bucket, and both can be edited: the one that keeps more data wins. */
async function policyFor(call: Call, buckets: Buckets, { volumes }: Deletion): Promise<PolicyAndTags> {
  const { location } = volumes;
  const onVolumes = policyOfVolumes(volumes);
  // Retained buckets are not read, and prefixes have no tags.
  if (onVolumes === "retain") return { policy: onVolumes, tags: undefined };
  if (location.prefix !== undefined) return { policy: onVolumes ?? defaultDeletePolicy, tags: undefined };
  const tags = await tagsOf(call, buckets, location);
  const onBucket = tags === undefined || tags === "unreadable" ? undefined : deletePolicyIn(tags);
  const recorded = [onVolumes, onBucket].filter((each) => each !== undefined);
  return { policy: strictest(recorded) ?? defaultDeletePolicy, tags };
}

/** undefined: no PersistentVolume has the handle. A policy that this version does not know counts as the default. */
function policyOfVolumes({ volume, duplicates }: VolumesAtLocation): DeletePolicy | undefined {
  const all = volume === undefined ? [] : [volume, ...duplicates];
  return strictest(all.map(({ deletePolicy = "" }) => deletePolicyFrom(deletePolicy) ?? defaultDeletePolicy));
}

/** Throws if the bucket belongs to another volume, even if it is empty. */
async function tagsOf(call: Call, buckets: Buckets, location: BucketLocation): Promise<PolicyAndTags["tags"]> {
  const answer = await orUnreadable(buckets.tags(call, location.bucket));
  if (answer.kind === "unsupported") return undefined;
  if (answer.kind !== "read") return "unreadable";
  const owner = otherOwner(answer.tags, location);
  if (owner === undefined) return answer.tags;
  const message = `bucket ${location.bucket} belongs to volume ${owner} by its tags and is not deleted`;
  throw new DriverError("denied", message, { hint: callFailures.bucketOfAnotherVolume.fix });
}

/** 2.x never read tags: its volumes must stay deletable on stores that refuse the request. */
async function orUnreadable<Answer>(answer: Promise<Answer>): Promise<Answer | { readonly kind: "unreadable" }> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DriverError && error.kind === "invalid") return { kind: "unreadable" };
    throw error;
  }
}

/** Removes data only with proof of ownership (DS-12). Without data no proof is needed. */
async function purge(
  call: Call,
  buckets: Buckets,
  { volumes, volumesNow, cluster }: Deletion,
  tags: PolicyAndTags["tags"],
): Promise<void> {
  const { location } = volumes;
  const now = await volumesNow();
  refuseIfChanged(volumes, now);
  const others = [...now.duplicates, ...now.sharers].map(({ name }) => name);
  const missing = missingProof({ location, volume: now.volume?.name, others, tags, cluster: await cluster() });
  if (missing === undefined) {
    await buckets.empty(call, location.bucket, location.prefix);
    return;
  }
  if (!(await buckets.holdsData(call, location.bucket, location.prefix))) return;
  const problem = `deletePolicy is purge, but it is not proven that ${describe(location)} holds only data of this volume`;
  throw new DriverError("denied", `${problem}: ${missing.reason}. Nothing was deleted`, { hint: missing.fix });
}

/**
 * The policy was read from the cache, which may be minutes old. A PersistentVolume that was created anew since, for example with another
 * policy, is one that the operator wants to keep, and between its deletion and its creation there is none.
 */
function refuseIfChanged(cached: VolumesAtLocation, now: VolumesAtLocation): void {
  const policy = policyOfVolumes(now) ?? "purge";
  const known = new Set([cached.volume, ...cached.duplicates].map((volume) => volume?.uid));
  if (policy === "purge" && known.has(now.volume?.uid)) return;
  const name = now.volume?.name ?? cached.volume?.name;
  throw new DriverError("notReady", `PersistentVolume ${name} was changed just now: nothing was deleted`, {
    hint: "csi-provisioner repeats the deletion with the PersistentVolume as it is now.",
  });
}

function describe({ bucket, prefix }: BucketLocation): string {
  return prefix === undefined ? `bucket ${bucket}` : `prefix ${prefix} of bucket ${bucket}`;
}
