/** The S3 operations that the CSI controller service needs. src/s3 implements them. */
import type { DriverError } from "../core/errors.ts";
import type { StoreName } from "../core/stores/store.ts";
import type { Call } from "../runtime/call.ts";
import type { Tags } from "./domain/bucket-tags.ts";

/** Content of the Secret that csi-provisioner sends with a call. Empty: it sends none, or the Secret has no fields. */
export type Secrets = Readonly<Record<string, string>>;

/**
 * Opens the store with the credentials in `secrets`, or with the driver's at this store if `secrets` is empty. Throws if the store is not
 * listed any more, and if the Secret says that its credentials are for another store.
 */
export type OpenBuckets = (call: Call, access: BucketAccess) => Promise<Buckets>;

export interface BucketAccess {
  readonly store: StoreName;
  readonly secrets: Secrets;
  /** Overrides the region of the Secret, which overrides that of the store. */
  readonly region: string | undefined;
}

/** csi-provisioner sends empty secrets if the StorageClass names no Secret, and if the Secret has no fields. */
export function hasCredentials(secrets: Secrets): boolean {
  return Object.keys(secrets).length > 0;
}

/** Operations at one store with the credentials of one account. Each throws DriverError. */
export interface Buckets {
  /**
   * Afterwards a bucket of this name exists, and the store reports that the account owns it. "made" is not certain: us-east-1 of
   * AWS answers so for an existing bucket, too. Nor is ownership: MinIO reports it to every user.
   */
  create(call: Call, bucket: string): Promise<"made" | "existed">;
  exists(call: Call, bucket: string): Promise<boolean>;
  /** The names of all buckets of the account. */
  names(call: Call): AsyncIterable<string>;
  tags(call: Call, bucket: string): Promise<{ readonly kind: "read"; readonly tags: Tags } | WithoutTags>;
  /** Replaces all tags of the bucket. */
  setTags(call: Call, bucket: string, tags: Tags): Promise<{ readonly kind: "written" } | WithoutTags>;
  /** Lists the bucket before it deletes it, because some stores delete buckets that hold data. */
  deleteIfEmpty(call: Call, bucket: string): Promise<"gone" | "notEmpty">;
  /** Objects, old versions, delete markers and unfinished uploads count as data; with a prefix, only those below it. */
  holdsData(call: Call, bucket: string, prefix?: string): Promise<boolean>;
  /** Removes what `holdsData` counts. An interrupted call can be repeated. */
  empty(call: Call, bucket: string, prefix?: string): Promise<void>;
}

/** The store has no bucket tags, or the account has no right to them. */
export type WithoutTags = { readonly kind: "unsupported" } | { readonly kind: "denied"; readonly error: DriverError };
