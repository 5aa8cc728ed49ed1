/** CreateVolume: the same request always ends in the same bucket, whatever was killed in between. */

import { DriverError, leavesNothing } from "../core/errors.ts";
import type { CapacityRange, CreateVolumeRequest, Volume } from "../csi/gen/csi.ts";
import { type Call, withFields } from "../runtime/call.ts";
import { checkCapabilities } from "./capabilities.ts";
import type { BucketActions, CsiControllerParts, Volumes, WithoutTags } from "./csi-controller-parts.ts";
import { capacityOf, judge, type Tags, tagsFor, type Wanted } from "./domain/bucket-tags.ts";
import { placeOf } from "./domain/dynamic-volume.ts";
import { defaultDeletePolicy, parseClassParameters } from "./domain/storage-class.ts";
import { bringsKeys } from "./secrets/access.ts";

export async function createVolume(
  call: Call,
  parts: CsiControllerParts,
  request: CreateVolumeRequest,
): Promise<Volume> {
  const wanted = { ...wantedFrom(request), cluster: await parts.clusterId(call) };
  const { place, parameters } = wanted;
  using _ = parts.inFlight.enter(place.id);
  const coming = { id: place.id, name: wanted.name, claim: parameters.claim };
  if (!bringsKeys(request.secrets)) await parts.checkFallback(call, coming);
  else if (parameters.deletePolicy !== "retain") await parts.keepSecret(call, coming);
  const telling = withFields(call, { volume: place.id, bucket: place.bucket });
  try {
    return await made(telling, parts, wanted, request);
  } catch (error) {
    if (leavesNothing(error)) parts.noVolumeMade(place.id);
    throw error;
  }
}

async function made(
  call: Call,
  parts: CsiControllerParts,
  wanted: Wanted,
  request: CreateVolumeRequest,
): Promise<Volume> {
  const { place, parameters } = wanted;
  const buckets = parts.store.as(await parts.access(call, request.secrets, parameters.region));
  const capacityBytes =
    place.prefix === undefined
      ? await ownBucket(call, { buckets, volumes: parts.volumes }, wanted)
      : await placeInShared(call, buckets, wanted);
  return {
    volumeId: place.id,
    capacityBytes,
    volumeContext: contextOf(wanted, request),
    accessibleTopology: [], // a bucket is reached from everywhere
  };
}

function wantedFrom(request: CreateVolumeRequest): Omit<Wanted, "cluster"> {
  const { name } = request;
  if (name === "") throw new DriverError("invalid", "name is required");
  checkCapabilities(request.volumeCapabilities);
  if (request.volumeContentSource !== undefined) {
    throw new DriverError("invalid", "volume_content_source is not supported: a bucket cannot be made from another", {
      hint: "In the claim: leave out dataSource and dataSourceRef, and copy the objects yourself.",
    });
  }
  const parameters = parseClassParameters(request.parameters, name);
  return { name, parameters, place: placeOf(name, parameters.bucket), capacity: capacityIn(request.capacityRange) };
}

function capacityIn({ requiredBytes = 0n, limitBytes = 0n }: Partial<CapacityRange> = {}) {
  if (requiredBytes < 0n || limitBytes < 0n || (limitBytes > 0n && limitBytes < requiredBytes)) {
    throw new DriverError("invalid", `capacity_range from ${requiredBytes} to ${limitBytes} bytes is none`);
  }
  return { required: requiredBytes, limit: limitBytes };
}

/** Gives the size that the bucket was made with. */
async function ownBucket(
  call: Call,
  { buckets, volumes }: { readonly buckets: BucketActions; readonly volumes: Volumes },
  wanted: Wanted,
): Promise<bigint> {
  const { bucket, id } = wanted.place;
  const found = await buckets.create(call, bucket);
  const answer = await orUndone(call, buckets, { bucket, found }, buckets.tags(call, bucket));
  const verdict = judge(answer.kind === "read" ? answer.tags : {}, wanted);
  switch (verdict.kind) {
    case "same":
      return verdict.capacityBytes;
    case "unmarked":
      if (found === "existed" && !(await volumes.haveHandle(call, id))) await refuseForeign(call, buckets, bucket);
      await orUndone(call, buckets, { bucket, found }, mark(call, buckets, wanted, answer));
      call.log.info("bucket made for a volume");
      return capacityOf(wanted.capacity);
    case "differs":
    case "foreign":
      throw new DriverError("exists", `bucket ${bucket} exists already, and ${verdict.because}`);
    default:
      return verdict satisfies never;
  }
}

/**
 * A bucket that was there before and has no tags may be the one of an earlier attempt that was killed: that one is empty, and we
 * may list it. That the store calls it ours proves nothing: MinIO says so to a second user for the bucket of the first (DS-5).
 */
async function refuseForeign(call: Call, buckets: BucketActions, bucket: string): Promise<void> {
  const exists = `bucket ${bucket} exists already, and no tag says that it was made for this volume`;
  try {
    if (!(await buckets.holdsData(call, bucket))) return;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (error.kind === "denied") {
      throw new DriverError("exists", `${exists}; ${error.message}`, { cause: error });
    }
    // The bucket may be ours: csi-provisioner has to repeat the call.
    throw new DriverError("notReady", error.message, { cause: error });
  }
  throw new DriverError("exists", `${exists}; it holds data`);
}

async function mark(
  call: Call,
  buckets: BucketActions,
  { place, parameters, ...rest }: Wanted,
  answer: { readonly kind: "read"; readonly tags: Tags } | WithoutTags,
) {
  const ours = tagsFor({ place, parameters, ...rest });
  const written =
    answer.kind === "read" ? await buckets.setTags(call, place.bucket, { ...answer.tags, ...ours }) : answer;
  if (parameters.deletePolicy === "purge") refuseUnprovable(written, rest.cluster);
  if (written.kind === "written") return;
  if (Object.keys(parameters.tags).length > 0) {
    throw new DriverError("invalid", "parameters.tags cannot be written on the bucket", {
      hint: "Use an account with the right to tag buckets on a store that has tags, or leave them out of the StorageClass.",
    });
  }
  call.log.info("the bucket has no tags: its name alone tells whose it is");
}

/** Later, nothing would prove that the bucket may be purged (DS-12). On a store without tags the names do. */
function refuseUnprovable(written: { readonly kind: "written" } | WithoutTags, cluster: string | undefined): void {
  const purge = "parameters.deletePolicy is purge, which needs tags that say whose the bucket is";
  if (written.kind === "denied") {
    throw new DriverError("denied", `${purge}: ${written.error.message}`, {
      cause: written.error,
      hint: "Give the account the rights s3:GetBucketTagging and s3:PutBucketTagging, or choose another deletePolicy in the StorageClass.",
    });
  }
  if (written.kind === "written" && cluster === undefined) {
    throw new DriverError("denied", `${purge}: the UID of the namespace kube-system may not be read`, {
      hint: "Install with the chart of this version, which grants it, or choose another deletePolicy in the StorageClass.",
    });
  }
}

/**
 * For what follows the creation of a bucket. To csi-provisioner every code but "may still be running" means that nothing was
 * left behind, and it may never ask again. The bucket goes only if it was made now and is empty; if it stays, csi-provisioner has
 * to repeat the call. So it has to when the store does not show the bucket yet, which happens right after its creation.
 */
async function orUndone<Result>(
  call: Call,
  buckets: BucketActions,
  { bucket, found }: { readonly bucket: string; readonly found: "made" | "existed" },
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DriverError) || error.kind === "notReady") throw error;
    const isHidden = error.kind === "missing";
    const undone = found === "made" && !isHidden && (await isGone(call, buckets, bucket));
    throw undone ? error : new DriverError("notReady", error.message, { cause: error });
  }
}

/** The next attempt says why it stays. */
async function isGone(call: Call, buckets: BucketActions, bucket: string): Promise<boolean> {
  const left = await buckets.deleteIfEmpty(call, bucket).catch(() => "unknown");
  return left === "gone";
}

/** Nothing is made: an object to mark the place would be a file in the volume. */
async function placeInShared(call: Call, buckets: BucketActions, { place, capacity }: Wanted): Promise<bigint> {
  if (!(await buckets.exists(call, place.bucket))) {
    throw new DriverError("missing", `parameters.sharedBucket ${place.bucket} does not exist`, {
      hint: "Create the bucket: the driver neither makes nor deletes one that claims share.",
    });
  }
  return capacityOf(capacity);
}

/** Volumes without wishes have exactly the attributes of 2.x. */
function contextOf({ place, parameters }: Wanted, { secrets }: CreateVolumeRequest): Record<string, string> {
  const { region, deletePolicy } = parameters;
  return {
    bucketName: place.bucket,
    authenticationSource: bringsKeys(secrets) ? "secret" : "driver",
    dynamicProvisioning: "true",
    ...(place.prefix !== undefined && { prefix: place.prefix }),
    ...(region !== undefined && { region }),
    ...(deletePolicy !== defaultDeletePolicy && { deletePolicy }),
  };
}
