/** Lists of a bucket in pages: objects with their versions, and unfinished uploads. */
import { isDeepStrictEqual } from "node:util";
import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { DriverError, type ErrorKind } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { storeError } from "./error.ts";

export interface Area {
  readonly bucket: string;
  /** Empty: the whole bucket. */
  readonly prefix: string;
}

export interface ObjectVersion {
  readonly Key: string;
  readonly VersionId: string | undefined;
}

export interface Upload {
  readonly Key: string;
  readonly UploadId: string | undefined;
}

/**
 * Whether there is an object, an old version of one, a delete marker or an unfinished upload. The plain list of objects comes first:
 * every store supports it, and mount-s3 needs the right to it. Stores without versions answer the list of versions with the plain
 * list, which has no versions. Without the right to list versions the result does not cover them; the store then refuses to delete a
 * bucket that holds some.
 */
export async function holdsData(call: Call, client: S3Client, area: Area): Promise<boolean> {
  const one = 1;
  for await (const page of plainPages(call, client, area, one)) if (page.length > 0) return true;
  const versions = orNothing(["unsupported", "invalid", "denied"], versionPages(call, client, area, one));
  for await (const page of versions) if (page.length > 0) return true;
  for await (const page of uploadPages(call, client, area, one)) if (page.length > 0) return true;
  return false;
}

type Pages<Entry> = AsyncGenerator<readonly Entry[]>;

/** Every version and every delete marker, then the plain objects of a store without versions. */
export async function* objectPages(call: Call, client: S3Client, area: Area, most?: number): Pages<ObjectVersion> {
  yield* orNothing(["unsupported", "invalid"], versionPages(call, client, area, most));
  yield* plainPages(call, client, area, most);
}

async function* versionPages(call: Call, client: S3Client, area: Area, most?: number): Pages<ObjectVersion> {
  let from: { readonly KeyMarker?: string | undefined; readonly VersionIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListObjectVersionsCommand = new ListObjectVersionsCommand({
      ...where(area),
      ...from,
      MaxKeys: most,
    });
    const page = await listed(call, area, "s3:ListBucketVersions", client.send(command, stop(call)));
    const decoded = decoderFor(page.EncodingType);
    const entries = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])];
    yield entries.map(({ Key = "", VersionId }) => ({ Key: decoded(Key), VersionId }));
    from = next(page, from, {
      KeyMarker: page.NextKeyMarker && decoded(page.NextKeyMarker),
      VersionIdMarker: page.NextVersionIdMarker || undefined,
    });
  }
}

/**
 * Where the next page begins; undefined: there is none. Some stores report a truncated page without a new marker; the same page would
 * be requested again and again.
 */
function next<From extends { readonly KeyMarker?: string | undefined }>(
  { IsTruncated }: { readonly IsTruncated?: boolean | undefined },
  before: From,
  after: From,
): From | undefined {
  return IsTruncated && after.KeyMarker && !isDeepStrictEqual(after, before) ? after : undefined;
}

async function* plainPages(call: Call, client: S3Client, area: Area, most?: number): Pages<ObjectVersion> {
  let more = true;
  let ContinuationToken: string | undefined;
  while (more) {
    const command: ListObjectsV2Command = new ListObjectsV2Command({
      ...where(area),
      ContinuationToken,
      MaxKeys: most,
    });
    const page = await listed(call, area, "s3:ListBucket", client.send(command, stop(call)));
    const decoded = decoderFor(page.EncodingType);
    yield (page.Contents ?? []).map(({ Key = "" }) => ({ Key: decoded(Key), VersionId: undefined }));
    more = page.IsTruncated === true && page.NextContinuationToken !== ContinuationToken;
    ContinuationToken = page.NextContinuationToken;
  }
}

/** Empty for stores that do not support this list. */
export async function* uploadPages(call: Call, client: S3Client, area: Area, most?: number): Pages<Upload> {
  yield* orNothing(["unsupported", "invalid"], pagesOfUploads(call, client, area, most));
}

async function* pagesOfUploads(call: Call, client: S3Client, area: Area, most?: number): Pages<Upload> {
  let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      ...where(area),
      ...from,
      MaxUploads: most,
    });
    const page = await listed(call, area, "s3:ListBucketMultipartUploads", client.send(command, stop(call)));
    const decoded = decoderFor(page.EncodingType);
    yield (page.Uploads ?? []).map(({ Key = "", UploadId }) => ({ Key: decoded(Key), UploadId }));
    from = next(page, from, {
      KeyMarker: page.NextKeyMarker && decoded(page.NextKeyMarker),
      UploadIdMarker: page.NextUploadIdMarker,
    });
  }
}

/** Keys may have characters that XML 1.0 has not: most control characters, U+FFFE and U+FFFF. Stores encode keys on request. */
function where({ bucket, prefix }: Area) {
  return { Bucket: bucket, EncodingType: "url" as const, ...(prefix !== "" && { Prefix: prefix }) };
}

/** Stores that do not support the encoding leave its name out of the answer, and send keys unencoded. */
function decoderFor(encoding: string | undefined): (text: string) => string {
  return encoding === "url" ? decodedFormText : (text) => text;
}

function decodedFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // the store announced an encoding that it did not apply
  }
}

function stop({ signal }: Call) {
  return { abortSignal: signal };
}

async function listed<Answer>(call: Call, { bucket }: Area, right: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw storeError(call.signal, `list what bucket ${bucket} holds (${right})`, error);
  }
}

/** Empty if the store refuses the list with an error of these kinds. */
async function* orNothing<Entry>(kinds: readonly ErrorKind[], pages: Pages<Entry>): Pages<Entry> {
  try {
    yield* pages;
  } catch (error) {
    if (!(error instanceof DriverError && kinds.includes(error.kind))) throw error;
  }
}
