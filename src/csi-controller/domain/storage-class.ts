/** The only place that reads the parameters of a StorageClass. Those that nobody knows are left alone, as in 2.x. */
import { quoted } from "../../core/attribute-refusal.ts";
import { DriverError } from "../../core/errors.ts";
import { driverName } from "../../core/names.ts";
import type { BucketWish } from "./dynamic-volume.ts";

/** From the one that keeps the most data to the one that keeps the least. */
export const deletePolicies = ["retain", "refuse-until-empty", "delete-if-empty", "purge"] as const;

/** What becomes of the data when the volume is deleted. */
export type DeletePolicy = (typeof deletePolicies)[number];

export const defaultDeletePolicy: DeletePolicy = "delete-if-empty";

export interface Claim {
  readonly namespace: string;
  readonly name: string;
}

export interface ClassParameters {
  readonly bucket: BucketWish;
  /** undefined: that of the Secret, else the driver's. */
  readonly region: string | undefined;
  readonly deletePolicy: DeletePolicy;
  /** Of the bucket, beside those of the driver. */
  readonly tags: Readonly<Record<string, string>>;
  /** Known if the provisioner runs with --extra-create-metadata. */
  readonly claim: Claim | undefined;
}

type Raw = Readonly<Record<string, string>>;

/** `requestName` is the name that the PersistentVolume will have. */
export function parseClassParameters(raw: Raw, requestName: string): ClassParameters {
  const claim = claimIn(raw);
  const variables = { "pv.name": requestName, "pvc.name": claim?.name, "pvc.namespace": claim?.namespace };
  return {
    bucket: parseBucket(raw, variables),
    region: parseRegion(raw["region"]),
    deletePolicy: parseDeletePolicy(raw["deletePolicy"]),
    tags: parseTags(raw["tags"], variables),
    claim,
  };
}

function claimIn(raw: Raw): Claim | undefined {
  const name = raw["csi.storage.k8s.io/pvc/name"];
  const namespace = raw["csi.storage.k8s.io/pvc/namespace"];
  return name && namespace ? { name, namespace } : undefined;
}

function parseBucket(raw: Raw, variables: Variables): BucketWish {
  const shared = raw["sharedBucket"]?.trim();
  const prefix = raw["bucketNamePrefix"]?.trim();
  if (shared) {
    if (prefix) throw refusal("sharedBucket", "and bucketNamePrefix exclude each other", "leave one of them out");
    if (/^[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]$/.test(shared)) return { kind: "shared", bucket: shared };
    throw refusal("sharedBucket", `${quoted(shared)} is not the name of a bucket`, "name a bucket that exists");
  }
  return prefix ? { kind: "named", prefix: resolved("bucketNamePrefix", prefix, variables) } : { kind: "own" };
}

function parseRegion(value: string | undefined): string | undefined {
  const region = value?.trim();
  if (!region) return undefined;
  if (/^[A-Za-z0-9][-_A-Za-z0-9]*$/.test(region)) return region;
  throw refusal("region", `${quoted(region)} is not the name of a region`, "use a name such as us-east-1");
}

function parseDeletePolicy(value: string | undefined): DeletePolicy {
  if (!value) return defaultDeletePolicy;
  const policy = deletePolicyFrom(value);
  if (policy !== undefined) return policy;
  throw refusal("deletePolicy", `${quoted(value)} is not known`, `use one of ${deletePolicies.join(", ")}`);
}

/** Also for volumes that exist: what is written there and unknown must not be guessed at. */
export function deletePolicyFrom(value: string): DeletePolicy | undefined {
  return deletePolicies.find((policy) => policy === value);
}

/** Of several that are written down for one volume, the one that keeps the most data; undefined: there is none. */
export function strictest(policies: readonly DeletePolicy[]): DeletePolicy | undefined {
  return deletePolicies.find((policy) => policies.includes(policy));
}

/** S3 allows 50; some are ours. */
const mostTags = 40;

function parseTags(value: string | undefined, variables: Variables): Readonly<Record<string, string>> {
  const items = (value ?? "").split(",").filter((item) => item.trim() !== "");
  const tags = items.map((item) => parseTag(item, variables));
  if (tags.length > mostTags) throw refusal("tags", `has ${tags.length} tags`, `give ${mostTags} at most`);
  return Object.fromEntries(tags);
}

function parseTag(item: string, variables: Variables): readonly [string, string] {
  const [, key = "", text = ""] = /^([^=]*)=?(.*)$/s.exec(item.trim()) ?? [];
  const tag = resolved("tags", text.trim(), variables);
  const name = key.trim();
  if (!/^[\p{L}\p{N} _.:/=+\-@]{1,128}$/u.test(name) || !/^[\p{L}\p{N} _.:/=+\-@]{0,256}$/u.test(tag)) {
    throw refusal("tags", `has ${quoted(item)}, which is not a tag`, "write key=value, separated by commas");
  }
  if (/^aws:/i.test(name) || name.startsWith(`${driverName}/`)) {
    throw refusal("tags", `has the key ${quoted(name)}, which is reserved`, "choose another key");
  }
  return [name, tag];
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The provisioner resolves variables in names of Secrets only; everything else is ours to do. */
function resolved(parameter: string, text: string, variables: Variables): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (variable, name: string) => {
    const value = variables[name];
    if (value !== undefined) return value;
    if (!(name in variables)) {
      throw refusal(
        parameter,
        `has the unknown variable ${variable}`,
        `use one of ${Object.keys(variables).join(", ")}`,
      );
    }
    throw refusal(
      parameter,
      `needs ${variable}, which nobody told`,
      "run csi-provisioner with --extra-create-metadata",
    );
  });
}

function refusal(parameter: string, problem: string, fix: string): DriverError {
  return new DriverError("invalid", `parameters.${parameter} ${problem}`, { hint: `In the StorageClass: ${fix}.` });
}
