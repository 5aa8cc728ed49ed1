/** What the driver writes on a bucket: whose it is, and what was asked for. */
import { createHash } from "node:crypto";
import type { Place } from "./dynamic-volume.ts";
import { driverName } from "./names.ts";
import { type ClassParameters, type DeletePolicy, deletePolicyFrom } from "./storage-class.ts";

export type Tags = Readonly<Record<string, string>>;

const keys = {
  volumeId: `${driverName}/volume-id`,
  volumeName: `${driverName}/pv-name`,
  claim: `${driverName}/claim`,
  capacity: `${driverName}/capacity`,
  parameters: `${driverName}/parameters`,
  deletePolicy: `${driverName}/delete-policy`,
} as const;

/** One request to create a volume, as far as two requests can differ. */
export interface Wanted {
  readonly name: string;
  readonly place: Place;
  readonly parameters: ClassParameters;
  readonly capacity: CapacityRange;
}

/** In bytes; a limit of 0 is none. */
export interface CapacityRange {
  readonly required: bigint;
  readonly limit: bigint;
}

/** A bucket has no size: what is asked for is what there is, and 1 GiB if nothing is. */
export function capacityOf({ required, limit }: CapacityRange): bigint {
  const gibibyte = 1n << 30n;
  if (required > 0n) return required;
  return limit > 0n && limit < gibibyte ? limit : gibibyte;
}

export function tagsFor({ name, place, parameters, capacity }: Wanted): Tags {
  const { claim } = parameters;
  return {
    ...parameters.tags,
    [keys.volumeId]: place.id,
    // A request may have any name; most are that of a PersistentVolume, which people look for.
    ...(/^[-.\w]{1,256}$/.test(name) && { [keys.volumeName]: name }),
    ...(claim && { [keys.claim]: `${claim.namespace}/${claim.name}`.slice(0, 256) }),
    [keys.capacity]: `${capacityOf(capacity)}`,
    [keys.parameters]: digestOf(parameters),
    [keys.deletePolicy]: parameters.deletePolicy,
  };
}

export type Verdict =
  /** Nobody has written on it yet: we were stopped before, or the store keeps no tags. */
  | { readonly kind: "unmarked" }
  | { readonly kind: "same"; readonly capacityBytes: bigint }
  /** Of this volume, but asked for in another way. */
  | { readonly kind: "differs"; readonly because: string }
  | { readonly kind: "foreign"; readonly because: string };

/** Whether a bucket that is there already is the one that is wanted. */
export function judge(tags: Tags, wanted: Wanted): Verdict {
  const owner = tags[keys.volumeId];
  if (owner === undefined) return { kind: "unmarked" };
  if (owner !== wanted.place.id) return { kind: "foreign", because: `it belongs to volume ${owner}` };
  if (tags[keys.parameters] !== digestOf(wanted.parameters)) {
    return { kind: "differs", because: "it was made with other parameters" };
  }
  const capacityBytes = BigInt(/^\d+$/.exec(tags[keys.capacity] ?? "")?.[0] ?? capacityOf(wanted.capacity));
  if (fits(capacityBytes, wanted.capacity)) return { kind: "same", capacityBytes };
  return { kind: "differs", because: `it was made with a size of ${capacityBytes} bytes` };
}

/** undefined: the tags say nothing, or nothing that we know. */
export function deletePolicyIn(tags: Tags): DeletePolicy | undefined {
  return deletePolicyFrom(tags[keys.deletePolicy] ?? "");
}

/** Whether the bucket is marked as that of another volume. */
export function belongsToAnother(tags: Tags, { id }: Place): boolean {
  return (tags[keys.volumeId] ?? id) !== id;
}

function fits(bytes: bigint, { required, limit }: CapacityRange): boolean {
  return bytes >= required && (limit === 0n || bytes <= limit);
}

/** Of what the driver understands; parameters that it does not know make no difference. */
function digestOf({ bucket, region, deletePolicy, tags }: ClassParameters): string {
  const sorted = Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([bucket, region ?? null, deletePolicy, sorted]))
    .digest("hex");
}
