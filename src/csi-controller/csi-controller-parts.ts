import type { DriverError } from "../core/errors.ts";
import type { InFlight } from "../core/in-flight.ts";
import type { VolumeId } from "../core/names.ts";
import type { Call } from "../runtime/call.ts";
import type { Access } from "../s3/object-store.ts";
import type { Tags } from "./domain/bucket-tags.ts";
import type { Place } from "./domain/dynamic-volume.ts";
import type { Claim } from "./domain/storage-class.ts";
import type { KnownVolume, VolumesOfPlace } from "./known-volumes.ts";
import type { AccessFor } from "./secrets/access.ts";

/** What the CSI controller service is made of; `bin` puts it together once. */
export interface CsiControllerParts {
  readonly access: AccessFor;
  readonly store: Store;
  readonly volumes: Volumes;
  readonly inFlight: InFlight;
  readonly reports: Reports;
  readonly clusterId: ClusterId;
  /** Refuses, or reports, that the driver's keys stand in for those of a class that names others. */
  readonly checkFallback: (call: Call, volume: ComingVolume) => Promise<void>;
  /** Keeps the Secret that the deletion of the volume will need. */
  readonly keepSecret: (call: Call, volume: ComingVolume) => Promise<void>;
  readonly noVolumeMade: (id: VolumeId) => void;
}

/** A volume that is about to be made. */
export interface ComingVolume {
  readonly id: VolumeId;
  /** The name that the PersistentVolume will have. */
  readonly name: string;
  /** Known if csi-provisioner runs with --extra-create-metadata. */
  readonly claim: Claim | undefined;
}

export interface Store {
  as(access: Access): BucketActions;
}

/** The few verbs that volumes need from an object store. */
export interface BucketActions {
  /** Afterwards there is a bucket of this name, which the store says is our account's. Not every store says if it existed. */
  create(call: Call, bucket: string): Promise<"made" | "existed">;
  exists(call: Call, bucket: string): Promise<boolean>;
  /** Of every bucket of the account. */
  names(call: Call): AsyncIterable<string>;
  tags(call: Call, bucket: string): Promise<{ readonly kind: "read"; readonly tags: Tags } | WithoutTags>;
  setTags(call: Call, bucket: string, tags: Tags): Promise<{ readonly kind: "written" } | WithoutTags>;
  /** Looks first, because not every store refuses to delete a bucket that holds data. */
  deleteIfEmpty(call: Call, bucket: string): Promise<"gone" | "notEmpty">;
  /** Objects, old versions, delete markers and unfinished uploads; below the prefix, if there is one. */
  holdsData(call: Call, bucket: string, prefix?: string): Promise<boolean>;
  empty(call: Call, bucket: string, prefix?: string): Promise<void>;
}

/** The store keeps no tags, or the account has no right to them. */
export type WithoutTags = { readonly kind: "unsupported" } | { readonly kind: "denied"; readonly error: DriverError };

/** undefined: we have no right to read it. */
export type ClusterId = (call: Call) => Promise<string | undefined>;

export interface Volumes {
  haveHandle(call: Call, handle: string): Promise<boolean>;
  ofPlace(call: Call, place: Place): Promise<VolumesOfPlace>;
}

export interface Reports {
  /** Data that stays although its volume goes: loudly, because nobody else remembers it. */
  kept(call: Call, kept: Kept): Promise<void>;
}

export interface Kept {
  readonly bucket: string;
  readonly prefix: string | undefined;
  readonly because: "policy" | "notEmpty";
  readonly volume: KnownVolume | undefined;
}
