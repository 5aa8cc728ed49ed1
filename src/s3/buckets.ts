/** The operations of the driver on buckets, with one set of credentials. */
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  GetBucketTaggingCommand,
  ListBucketsCommand,
  type ListBucketsCommandOutput,
  ListObjectsV2Command,
  PutBucketTaggingCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { DriverError, type ErrorKind } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { type EmptyingParts, empty } from "./empty.ts";
import { noTags, storeCode, storeError } from "./error.ts";
import { holdsData } from "./listing.ts";

type Tags = Readonly<Record<string, string>>;

/** An account may have the right to a bucket and not to its tags; 2.x did not need the latter. */
type WithoutTags = { readonly kind: "unsupported" } | { readonly kind: "denied"; readonly error: DriverError };

/** AWS makes buckets in this region if the request names none, and refuses its name as a LocationConstraint. */
const unnamedRegion = "us-east-1";

export interface Region {
  readonly region: string;
  /** The setting that asks for this region, for messages; undefined: it is the driver's own region. */
  readonly regionAskedBy: string | undefined;
}

export class Buckets {
  readonly #client: S3Client;
  readonly #emptying: EmptyingParts;
  readonly #region: Region;

  constructor(parts: EmptyingParts, region: Region) {
    this.#client = parts.client;
    this.#emptying = parts;
    this.#region = region;
  }

  /**
   * Afterwards the bucket exists, and the store has said that it belongs to our account. "made" is not reliable: us-east-1 of AWS
   * answers so for a bucket that existed before. Ownership is not reliable either: MinIO confirms it to every user.
   */
  async create(call: Call, bucket: string): Promise<"made" | "existed"> {
    const { region, regionAskedBy } = this.#region;
    if (region === unnamedRegion) return await this.#makeInUnnamedRegion(call, bucket);
    try {
      return await this.#make(call, bucket, region);
    } catch (error) {
      if (!isNoLocation(error)) throw error;
      if (regionAskedBy !== undefined) throw noLocation(region, regionAskedBy, error);
      // Requests are signed for the driver's region; a store with locations of its own may have none of that name.
      call.log.info("the store has no location called as the driver's region: the bucket is made without one", {
        region,
      });
      return await this.#make(call, bucket, undefined);
    }
  }

  /** A store may have a location of this name, and another default. */
  async #makeInUnnamedRegion(call: Call, bucket: string): Promise<"made" | "existed"> {
    const { region, regionAskedBy } = this.#region;
    if (regionAskedBy === undefined) return await this.#make(call, bucket, undefined);
    try {
      return await this.#make(call, bucket, region);
    } catch (error) {
      // Stores have several codes for a wrong location. Any other mistake in the request fails again without the location.
      if (!isOf(error, "invalid")) throw error;
      return await this.#make(call, bucket, undefined);
    }
  }

  async #make(call: Call, Bucket: string, location: string | undefined): Promise<"made" | "existed"> {
    const command = new CreateBucketCommand({ Bucket });
    // Without a location the SDK sets the region by itself; this middleware runs after that.
    const input = { Bucket, CreateBucketConfiguration: location === undefined ? undefined : constraint(location) };
    command.middlewareStack.add((next) => (args) => next({ ...args, input }), { step: "initialize", priority: "low" });
    try {
      await this.#client.send(command, { abortSignal: call.signal });
      return "made";
    } catch (error) {
      if (storeCode(error) === "BucketAlreadyOwnedByYou") return "existed";
      throw storeError(call.signal, `create bucket ${Bucket}`, error);
    }
  }

  /** Lists instead of HEAD, with the same right: an answer to HEAD has no body, and so no error code of S3. */
  async exists(call: Call, bucket: string): Promise<boolean> {
    try {
      await this.#client.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }), { abortSignal: call.signal });
      return true;
    } catch (error) {
      if (storeCode(error) === "NoSuchBucket") return false;
      throw storeError(call.signal, `look for bucket ${bucket}`, error);
    }
  }

  /** The names of all buckets of the account. Stores without pagination answer with one page. */
  async *names(call: Call): AsyncGenerator<string> {
    let token: string | undefined;
    do {
      const page = await this.#page(call, token);
      for (const { Name = "" } of page.Buckets ?? []) yield Name;
      token = page.ContinuationToken || undefined;
    } while (token !== undefined);
  }

  async tags(call: Call, bucket: string): Promise<{ readonly kind: "read"; readonly tags: Tags } | WithoutTags> {
    try {
      const command = new GetBucketTaggingCommand({ Bucket: bucket });
      const { TagSet = [] } = await this.#client.send(command, { abortSignal: call.signal });
      return { kind: "read", tags: Object.fromEntries(TagSet.map(({ Key = "", Value = "" }) => [Key, Value])) };
    } catch (error) {
      if (noTags.has(storeCode(error))) return { kind: "read", tags: {} };
      return withoutTags(storeError(call.signal, `read the tags of bucket ${bucket} (s3:GetBucketTagging)`, error));
    }
  }

  async setTags(call: Call, bucket: string, tags: Tags): Promise<{ readonly kind: "written" } | WithoutTags> {
    const TagSet = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    try {
      const command = new PutBucketTaggingCommand({ Bucket: bucket, Tagging: { TagSet } });
      await this.#client.send(command, { abortSignal: call.signal });
      return { kind: "written" };
    } catch (error) {
      return withoutTags(storeError(call.signal, `write the tags of bucket ${bucket} (s3:PutBucketTagging)`, error));
    }
  }

  /**
   * Keeps a bucket that holds data. S3 refuses to delete such a bucket, but some stores delete it with its data (SeaweedFS), so this
   * lists first. On those stores, an object that a client writes between the list and the deletion is lost.
   */
  async deleteIfEmpty(call: Call, bucket: string): Promise<"gone" | "notEmpty"> {
    try {
      if (await this.holdsData(call, bucket)) return "notEmpty";
    } catch (error) {
      if (isOf(error, "missing")) return "gone";
      throw error;
    }
    try {
      await this.#client.send(new DeleteBucketCommand({ Bucket: bucket }), { abortSignal: call.signal });
      return "gone";
    } catch (error) {
      const failure = storeError(call.signal, `delete bucket ${bucket}`, error);
      if (isOf(failure, "missing")) return "gone";
      if (isOf(failure, "inUse")) return "notEmpty";
      throw failure;
    }
  }

  /** Whether there is an object, an old version, a delete marker or an unfinished upload below the prefix. */
  async holdsData(call: Call, bucket: string, prefix = ""): Promise<boolean> {
    return await holdsData(call, this.#client, { bucket, prefix });
  }

  /** Removes every object below the prefix with all its versions, and every unfinished upload. Safe to abort and to repeat. */
  async empty(call: Call, bucket: string, prefix = ""): Promise<void> {
    await empty(call, this.#emptying, { bucket, prefix });
  }

  async #page(call: Call, ContinuationToken: string | undefined): Promise<ListBucketsCommandOutput> {
    try {
      return await this.#client.send(new ListBucketsCommand({ ContinuationToken }), { abortSignal: call.signal });
    } catch (error) {
      throw storeError(call.signal, "list the buckets of the account", error);
    }
  }
}

/** The first is the code of AWS and most stores, the second that of CubeFS. */

/** Stores other than AWS have regions that the types of the SDK do not know. */
function constraint(region: string) {
  return { LocationConstraint: region as "eu-west-1" };
}

function isNoLocation(error: unknown): boolean {
  return error instanceof DriverError && storeCode(error.cause) === "InvalidLocationConstraint";
}

function noLocation(region: string, askedBy: string, cause: unknown): DriverError {
  return new DriverError("invalid", `${askedBy} is ${region}, and the store has no such location`, {
    cause,
    hint: "Name a location that the store has, or leave it out.",
  });
}

function withoutTags(failure: Error): WithoutTags {
  if (failure instanceof DriverError && failure.kind === "denied") return { kind: "denied", error: failure };
  if (isOf(failure, "unsupported")) return { kind: "unsupported" };
  throw failure;
}

function isOf(failure: unknown, ...kinds: readonly ErrorKind[]): boolean {
  return failure instanceof DriverError && kinds.includes(failure.kind);
}
