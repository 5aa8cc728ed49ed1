/** What the driver writes on a bucket: whose it is, and what was asked for. */
import { createHash } from "node:crypto";
import { driverName } from "../../core/names.ts";
import { ownIdOf, type Place } from "./dynamic-volume.ts";
import { type ClassParameters, type DeletePolicy, deletePolicyFrom } from "./storage-class.ts";

export type Tags = Readonly<Record<string, string>>;

/** Whoever keeps a bucket although its volume is gone says so with it. */
export const keptTag = `${driverName}/kept`;

const keys = {
  volumeId: `${driverName}/volume-id`,
  volumeName: `${driverName}/pv-name`,
  claim: `${driverName}/claim`,
  cluster: `${driverName}/cluster`,
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
  /** Tells clusters that use the same account apart; undefined: nobody tells us which one this is. */
  readonly cluster: string | undefined;
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

export function tagsFor({ name, place, parameters, capacity, cluster }: Wanted): Tags {
  const { claim } = parameters;
  return {
    ...parameters.tags,
    [keys.volumeId]: place.id,
    // A request may have any name; most are that of a PersistentVolume, which people look for.
    ...(/^[-.\w]{1,256}$/.test(name) && { [keys.volumeName]: name }),
    ...(claim && { [keys.claim]: `${claim.namespace}/${claim.name}`.slice(0, 256) }),
    ...(cluster && { [keys.cluster]: cluster }),
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

/** The id of the other volume whose bucket it is, by its tags. */
export function otherOwner(tags: Tags, { id }: Place): string | undefined {
  const owner = tags[keys.volumeId];
  return owner === id ? undefined : owner;
}

export interface Gap {
  /** Completes the sentence "nothing was deleted, because …". */
  readonly because: string;
  readonly fix: string;
}

/**
 * What is missing in the tags to prove that the bucket was made for this volume of this cluster; undefined: nothing. A cluster
 * that was restored from a backup has the same volumes, but another UID; `cluster` is undefined where we may not read it.
 */
export function gapInTags(tags: Tags, { id }: Place, cluster: string | undefined): Gap | undefined {
  if (cluster === undefined) {
    const fix = "Install with the chart of this version, which grants get for the namespace kube-system.";
    return { because: "the UID of the namespace kube-system, which identifies the cluster, may not be read", fix };
  }
  const set = `set the tags ${keys.volumeId}=${id} and ${keys.cluster}=${cluster} on it`;
  const fix = `If the data may go, ${set}, or empty it yourself; the deletion is repeated.`;
  if (tags[keys.volumeId] !== id) return { because: `no tag ${keys.volumeId} of the bucket names this volume`, fix };
  const other = tags[keys.cluster];
  if (other === undefined) return { because: `no tag ${keys.cluster} of the bucket names this cluster`, fix };
  if (other !== cluster) return { because: `its tag ${keys.cluster} names another cluster, ${other}`, fix };
  return undefined;
}

/** The tags of a bucket that stays although its volume goes; undefined: it has none of ours. */
export function tagsWhenKept(tags: Tags, because: string): Tags | undefined {
  return tags[keys.volumeId] === undefined ? undefined : { ...tags, [keptTag]: because };
}

/** What a bucket that no volume has tells about itself. */
export type Trace =
  /** Made for the volume with this id, as it would be without wishes. */
  | { readonly kind: "of"; readonly ownId: string; readonly claim: string | undefined }
  /** It looks like a volume's, but nothing is written on it (yet). */
  | { readonly kind: "unmarked"; readonly ownId: string }
  /** Of another cluster, or kept on purpose; that never changes. */
  | { readonly kind: "accountedFor" }
  /** Nothing to do with volumes. */
  | { readonly kind: "foreign" };

export function traceOn(bucket: string, tags: Tags, cluster: string): Trace {
  if (tags[keptTag] !== undefined) return { kind: "accountedFor" };
  const id = tags[keys.volumeId];
  if (id === undefined) {
    const ownId = ownIdOf(bucket);
    return ownId === undefined ? { kind: "foreign" } : { kind: "unmarked", ownId };
  }
  const ownId = ownIdOf(id);
  if (ownId === undefined) return { kind: "foreign" };
  if (tags[keys.cluster] !== cluster) return { kind: "accountedFor" };
  return { kind: "of", ownId, claim: tags[keys.claim] };
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
