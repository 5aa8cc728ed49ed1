/** Parses the parameters of a StorageClass. Unknown parameters are ignored, as in 2.x. */

import { driverName } from "../../core/names.ts";
import type { StoreReference } from "../../core/stores/store-of.ts";
import { quoted } from "../../core/volume/attribute-refusal.ts";
import type { BucketOptions } from "./bucket-location.ts";
import { type PodIdentity, parsePodIdentity } from "./class-identity.ts";
import { resolved, type Variables } from "./class-variables.ts";
import { parameterRefusal } from "./parameter-refusal.ts";
import { parseSharedPrefix } from "./shared-prefix.ts";

/** Ordered from the policy that keeps the most data to the one that keeps the least. */
export const deletePolicies = ["retain", "refuse-until-empty", "delete-if-empty", "purge"] as const;

/** What DeleteVolume does with the data of a volume. */
export type DeletePolicy = (typeof deletePolicies)[number];

export const defaultDeletePolicy: DeletePolicy = "delete-if-empty";

export interface Claim {
  readonly namespace: string;
  readonly name: string;
}

export interface ClassParameters {
  readonly bucket: BucketOptions;
  /** undefined: the region in the provisioner Secret, else the driver's. */
  readonly region: string | undefined;
  readonly deletePolicy: DeletePolicy;
  /** Bucket tags that the StorageClass adds to those of the driver. */
  readonly tags: Readonly<Record<string, string>>;
  /** undefined: csi-provisioner runs without --extra-create-metadata. */
  readonly claim: Claim | undefined;
  /** As given: the installation knows which stores there are. */
  readonly store: StoreReference;
  /** Volumes are mounted with credentials for the service account of each workload; undefined: with those of a Secret or the driver. */
  readonly podIdentity: PodIdentity | undefined;
}

type Raw = Readonly<Record<string, string>>;

/** `requestName` becomes the name of the PersistentVolume. Throws DriverError "invalid", which names the parameter and the fix. */
export function parseClassParameters(raw: Raw, requestName: string): ClassParameters {
  const claim = claimIn(raw);
  const variables = { "pv.name": requestName, "pvc.name": claim?.name, "pvc.namespace": claim?.namespace };
  return {
    bucket: parseBucket(raw, variables),
    region: parseRegion(raw["region"]),
    deletePolicy: parseDeletePolicy(raw["deletePolicy"]),
    tags: parseTags(raw["tags"], variables),
    claim,
    store: { store: raw["store"]?.trim() || undefined, endpointUrl: raw["endpointUrl"]?.trim() || undefined },
    podIdentity: parsePodIdentity(raw, variables),
  };
}

function claimIn(raw: Raw): Claim | undefined {
  const name = raw["csi.storage.k8s.io/pvc/name"];
  const namespace = raw["csi.storage.k8s.io/pvc/namespace"];
  return name && namespace ? { name, namespace } : undefined;
}

function parseBucket(raw: Raw, variables: Variables): BucketOptions {
  const shared = raw["sharedBucket"]?.trim();
  const prefix = raw["bucketNamePrefix"]?.trim();
  const below = parseSharedPrefix(raw["sharedBucketPrefix"], variables);
  if (shared) {
    if (prefix) throw parameterRefusal("sharedBucket", "and bucketNamePrefix exclude each other", "remove one of them");
    if (!/^[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]$/.test(shared)) {
      throw parameterRefusal("sharedBucket", `${quoted(shared)} is not a valid bucket name`, "name an existing bucket");
    }
    return { kind: "shared", bucket: shared, ...(below !== undefined && { below }) };
  }
  if (below !== undefined) {
    throw parameterRefusal("sharedBucketPrefix", "needs sharedBucket", "name an existing bucket in sharedBucket");
  }
  return prefix ? { kind: "named", prefix: resolved("bucketNamePrefix", prefix, variables) } : { kind: "own" };
}

function parseRegion(value: string | undefined): string | undefined {
  const region = value?.trim();
  if (!region) return undefined;
  if (/^[A-Za-z0-9][-_A-Za-z0-9]*$/.test(region)) return region;
  throw parameterRefusal("region", `${quoted(region)} is not a valid region name`, "use a name such as us-east-1");
}

function parseDeletePolicy(value: string | undefined): DeletePolicy {
  if (!value) return defaultDeletePolicy;
  const policy = deletePolicyFrom(value);
  if (policy !== undefined) return policy;
  throw parameterRefusal(
    "deletePolicy",
    `${quoted(value)} is not a known policy`,
    `use one of ${deletePolicies.join(", ")}`,
  );
}

/** Also parses the policy recorded on existing volumes and buckets. undefined: not a known policy. */
export function deletePolicyFrom(value: string): DeletePolicy | undefined {
  return deletePolicies.find((policy) => policy === value);
}

/** Of several policies for one volume, the one that keeps the most data; undefined: the list is empty. */
export function strictest(policies: readonly DeletePolicy[]): DeletePolicy | undefined {
  return deletePolicies.find((policy) => policies.includes(policy));
}

/** S3 allows 50 tags per bucket; the driver needs 8 of them. */
const maxTags = 40;

function parseTags(value: string | undefined, variables: Variables): Readonly<Record<string, string>> {
  const items = (value ?? "").split(",").filter((item) => item.trim() !== "");
  const tags = items.map((item) => parseTag(item, variables));
  if (tags.length > maxTags) throw parameterRefusal("tags", `has ${tags.length} tags`, `use at most ${maxTags} tags`);
  return Object.fromEntries(tags);
}

function parseTag(item: string, variables: Variables): readonly [string, string] {
  const [, key = "", text = ""] = /^([^=]*)=?(.*)$/s.exec(item.trim()) ?? [];
  const tag = resolved("tags", text.trim(), variables);
  const name = key.trim();
  if (!/^[\p{L}\p{N} _.:/=+\-@]{1,128}$/u.test(name) || !/^[\p{L}\p{N} _.:/=+\-@]{0,256}$/u.test(tag)) {
    throw parameterRefusal(
      "tags",
      `has ${quoted(item)}, which is not a valid tag`,
      "write key=value pairs, separated by commas",
    );
  }
  if (/^aws:/i.test(name) || name.startsWith(`${driverName}/`)) {
    throw parameterRefusal("tags", `has the key ${quoted(name)}, which is reserved`, "choose another key");
  }
  return [name, tag];
}
