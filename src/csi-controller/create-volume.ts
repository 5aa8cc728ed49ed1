/** CreateVolume. Repeating a request always leads to the same bucket, wherever an earlier attempt was interrupted. */

import { DriverError, leavesNothing } from "../core/errors.ts";
import { callFailures } from "../core/failures/call-failures.ts";
import type { InFlight } from "../core/in-flight.ts";
import { defaultStore, type Store } from "../core/stores/store.ts";
import type { CapacityRange, CreateVolumeRequest, Volume } from "../csi/gen/csi.ts";
import { type Call, withFields } from "../runtime/call.ts";
import { type Buckets, hasCredentials, type OpenBuckets, type Secrets, type WithoutTags } from "./buckets.ts";
import { checkCapabilities } from "./capabilities.ts";
import type { ClusterId } from "./cluster-id.ts";
import { locationFor } from "./domain/bucket-location.ts";
import { capacityOf, compareTags, type Tags, tagsFor, type VolumeSpec } from "./domain/bucket-tags.ts";
import { defaultDeletePolicy, parseClassParameters } from "./domain/storage-class.ts";
import type { ProvisionerSecrets } from "./secrets/provisioner-secrets.ts";
import { type Installation, storeForVolume } from "./stores/store-for-volume.ts";
import type { VolumeCache } from "./volume-cache.ts";

export interface CreateDependencies {
  readonly installation: Installation;
  readonly openBuckets: OpenBuckets;
  readonly volumes: Pick<VolumeCache, "hasHandle">;
  readonly inFlight: InFlight;
  readonly clusterId: ClusterId;
  readonly secrets: ProvisionerSecrets;
}

export async function createVolume(
  call: Call,
  dependencies: CreateDependencies,
  request: CreateVolumeRequest,
): Promise<Volume> {
  const { installation, clusterId, inFlight, secrets } = dependencies;
  const spec = { ...parseRequest(installation, request), cluster: await clusterId(call) };
  const { location, parameters } = spec;
  using _ = inFlight.enter(location.volumeId);
  const pending = { id: location.volumeId, name: spec.name, claim: parameters.claim };
  const { deletePolicy } = parameters;
  await secrets.prepare(call, pending, { hasCredentials: hasCredentials(request.secrets), deletePolicy });
  const logged = withFields(call, { volume: spec.name, volumeId: location.volumeId, bucket: location.bucket });
  try {
    return await provision(logged, dependencies, spec, request);
  } catch (error) {
    if (leavesNothing(error)) secrets.volumeNotCreated(location.volumeId);
    throw error;
  }
}

async function provision(
  call: Call,
  { openBuckets, volumes }: CreateDependencies,
  spec: SpecAtStore,
  { secrets }: CreateVolumeRequest,
): Promise<Volume> {
  const { location, parameters } = spec;
  const buckets = await openBuckets(call, { store: location.store, secrets, region: parameters.region });
  const capacityBytes =
    location.prefix === undefined
      ? await createBucket(call, { buckets, volumes }, spec)
      : await checkSharedBucket(call, buckets, spec);
  return {
    volumeId: location.volumeId,
    capacityBytes,
    volumeContext: volumeContextOf(spec, secrets),
    accessibleTopology: [], // every node reaches the store
  };
}

interface SpecAtStore extends VolumeSpec {
  readonly store: Store;
  /** Whether the StorageClass or the provisioner Secret names the store. */
  readonly isStoreNamed: boolean;
}

function parseRequest(installation: Installation, request: CreateVolumeRequest): Omit<SpecAtStore, "cluster"> {
  const { name } = request;
  if (name === "") throw new DriverError("invalid", "name is required");
  checkCapabilities(request.volumeCapabilities);
  if (request.volumeContentSource !== undefined) {
    const message = "volume_content_source is not supported: the driver cannot copy a snapshot or another volume";
    throw new DriverError("invalid", message, {
      hint: "In the claim: remove dataSource and dataSourceRef, and copy the objects yourself.",
    });
  }
  const parameters = parseClassParameters(request.parameters, name);
  const { store, isNamed } = storeForVolume(installation, parameters, request.secrets);
  const location = locationFor(name, parameters.bucket, store.name);
  const capacity = parseCapacity(request.capacityRange);
  return { name, parameters, location, store, isStoreNamed: isNamed, capacity };
}

function parseCapacity({ requiredBytes = 0n, limitBytes = 0n }: Partial<CapacityRange> = {}) {
  if (requiredBytes < 0n || limitBytes < 0n) {
    const bytes = `required_bytes (${requiredBytes}) and limit_bytes (${limitBytes})`;
    throw new DriverError("invalid", `capacity_range: ${bytes} must not be negative`);
  }
  if (limitBytes > 0n && limitBytes < requiredBytes) {
    const message = `capacity_range: limit_bytes (${limitBytes}) is less than required_bytes (${requiredBytes})`;
    throw new DriverError("invalid", message);
  }
  return { required: requiredBytes, limit: limitBytes };
}

/** Returns the capacity that the bucket was created with. */
async function createBucket(
  call: Call,
  { buckets, volumes }: { readonly buckets: Buckets; readonly volumes: CreateDependencies["volumes"] },
  spec: VolumeSpec,
): Promise<bigint> {
  const { bucket, volumeId } = spec.location;
  const found = await buckets.create(call, bucket);
  const current = await orUndo(call, buckets, { bucket, found }, buckets.tags(call, bucket));
  const comparison = compareTags(current.kind === "read" ? current.tags : {}, spec);
  switch (comparison.kind) {
    case "same":
      return comparison.capacityBytes;
    case "untagged":
      if (found === "existed" && !(await volumes.hasHandle(call, volumeId))) await refuseForeign(call, buckets, bucket);
      await orUndo(call, buckets, { bucket, found }, writeTags(call, buckets, spec, current));
      call.log.info("created the bucket of a volume");
      return capacityOf(spec.capacity);
    case "differs":
    case "foreign":
      throw new DriverError("exists", `bucket ${bucket} already exists and ${comparison.reason}`, { hint: newClaim });
    default:
      return comparison satisfies never;
  }
}

/**
 * An existing bucket without tags may come from an interrupted attempt of this request: then it is empty, and the account may list
 * it. The store's answer that the account owns the bucket is no proof: MinIO gives it to every user (DS-5).
 */
async function refuseForeign(call: Call, buckets: Buckets, bucket: string): Promise<void> {
  const exists = `bucket ${bucket} already exists, and no tag says that it was created for this volume`;
  try {
    if (!(await buckets.holdsData(call, bucket))) return;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (error.kind === "denied") {
      throw new DriverError("exists", `${exists}; ${error.message}`, { cause: error, hint: newClaim });
    }
    // The bucket may belong to this volume: csi-provisioner has to repeat the call.
    throw asNotReady(error);
  }
  throw new DriverError("exists", `${exists}; the bucket holds data`, { hint: newClaim });
}

const newClaim = callFailures.bucketTaken.fix;

async function writeTags(
  call: Call,
  buckets: Buckets,
  { location, parameters, ...rest }: VolumeSpec,
  current: { readonly kind: "read"; readonly tags: Tags } | WithoutTags,
) {
  const tags = tagsFor({ location, parameters, ...rest });
  const written =
    current.kind === "read" ? await buckets.setTags(call, location.bucket, { ...current.tags, ...tags }) : current;
  if (parameters.deletePolicy === "purge") refuseUnprovable(written, rest.cluster);
  if (written.kind === "written") return;
  if (Object.keys(parameters.tags).length > 0) {
    throw new DriverError("invalid", "parameters.tags: the driver cannot write tags on the bucket", {
      hint: "Use a store with bucket tags and an account that may write them, or remove tags from the StorageClass.",
    });
  }
  call.log.info("created a bucket without tags: only its name identifies the volume");
}

/** Without tags, DeleteVolume could never prove that the bucket may be purged (DS-12). On a store without tags the names prove it. */
function refuseUnprovable(written: { readonly kind: "written" } | WithoutTags, cluster: string | undefined): void {
  const purge = "parameters.deletePolicy is purge, which needs bucket tags that name volume and cluster";
  if (written.kind === "denied") {
    throw new DriverError("denied", `${purge}: ${written.error.message}`, {
      cause: written.error,
      hint: "Grant the account s3:GetBucketTagging and s3:PutBucketTagging, or choose another deletePolicy in the StorageClass.",
    });
  }
  if (written.kind === "written" && cluster === undefined) {
    const message = `${purge}: the driver has no right to read the UID of the namespace kube-system`;
    throw new DriverError("denied", message, {
      hint: "Install the chart of this version, which grants the right, or choose another deletePolicy in the StorageClass.",
    });
  }
}

/**
 * Wraps the steps that follow the creation of a bucket. csi-provisioner takes every gRPC code except the "may still be in progress"
 * ones for "nothing was created" and may never repeat the call. If a step fails for good, the bucket is deleted, provided that this
 * call created it and it is empty. If the bucket stays, the error becomes "notReady", so that csi-provisioner repeats the call. The
 * same holds for a store that does not show the bucket yet, as some do right after its creation.
 */
async function orUndo<Result>(
  call: Call,
  buckets: Buckets,
  { bucket, found }: { readonly bucket: string; readonly found: "made" | "existed" },
  step: Promise<Result>,
): Promise<Result> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof DriverError) || error.kind === "notReady") throw error;
    const isHidden = error.kind === "missing";
    const undone = found === "made" && !isHidden && (await deleted(call, buckets, bucket));
    throw undone ? error : asNotReady(error);
  }
}

/** The same failure, with its fix, as one after which csi-provisioner repeats the call. */
function asNotReady(error: DriverError): DriverError {
  const { message, hint } = error;
  return new DriverError("notReady", message, { cause: error, ...(hint !== undefined && { hint }) });
}

/** Errors are ignored: the bucket stays, and the next attempt reports them. */
async function deleted(call: Call, buckets: Buckets, bucket: string): Promise<boolean> {
  const outcome = await buckets.deleteIfEmpty(call, bucket).catch(() => "unknown");
  return outcome === "gone";
}

/** Creates no object for the prefix: the object would be a file in the volume. */
async function checkSharedBucket(call: Call, buckets: Buckets, { location, capacity }: VolumeSpec): Promise<bigint> {
  if (!(await buckets.exists(call, location.bucket))) {
    throw new DriverError("missing", `parameters.sharedBucket: bucket ${location.bucket} does not exist`, {
      hint: "Create the bucket: the driver neither creates nor deletes shared buckets.",
    });
  }
  return capacityOf(capacity);
}

/**
 * With default parameters, the volume context is exactly that of 2.x. The address of a named store shows later that the name stands for
 * another store (ID-4).
 */
function volumeContextOf(
  { location, parameters, store, isStoreNamed }: SpecAtStore,
  secrets: Secrets,
): Record<string, string> {
  const { region, deletePolicy, podIdentity } = parameters;
  const withoutPods = hasCredentials(secrets) ? "secret" : "driver";
  return {
    bucketName: location.bucket,
    authenticationSource: podIdentity === undefined ? withoutPods : "pod",
    dynamicProvisioning: "true",
    ...(isStoreNamed && { store: location.store }),
    ...(location.store !== defaultStore && { endpointUrl: store.endpointUrl }),
    ...(podIdentity?.roleArn !== undefined && { roleArn: podIdentity.roleArn }),
    ...(location.prefix !== undefined && { prefix: location.prefix }),
    ...(region !== undefined && { region }),
    ...(deletePolicy !== defaultDeletePolicy && { deletePolicy }),
  };
}
