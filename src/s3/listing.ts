/** What a bucket holds, in pages: objects with their versions, and unfinished uploads. */
import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { DriverError } from "../core/errors.ts";
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

/** Whether there is an object, an old version of one, a delete marker or an unfinished upload. */
export async function holdsData(call: Call, client: S3Client, area: Area): Promise<boolean> {
  const one = 1;
  for await (const page of objectPages(call, client, area, one)) if (page.length > 0) return true;
  for await (const page of uploadPages(call, client, area, one)) if (page.length > 0) return true;
  return false;
}

type Pages<Entry> = AsyncGenerator<readonly Entry[]>;

/** Every version and every delete marker; of a store without versions, its objects. */
export async function* objectPages(call: Call, client: S3Client, area: Area, most?: number): Pages<ObjectVersion> {
  try {
    yield* versionPages(call, client, area, most);
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    yield* plainPages(call, client, area, most);
  }
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
    from = page.IsTruncated
      ? {
          KeyMarker: page.NextKeyMarker && decoded(page.NextKeyMarker),
          VersionIdMarker: page.NextVersionIdMarker || undefined,
        }
      : undefined;
  }
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
    ContinuationToken = page.NextContinuationToken;
    more = page.IsTruncated === true;
  }
}

/** A store that knows no list of them has none. */
export async function* uploadPages(call: Call, client: S3Client, area: Area, most?: number): Pages<Upload> {
  let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      ...where(area),
      ...from,
      MaxUploads: most,
    });
    const page = await unlessUnsupported(
      listed(call, area, "s3:ListBucketMultipartUploads", client.send(command, stop(call))),
    );
    if (page === undefined) return;
    const decoded = decoderFor(page.EncodingType);
    yield (page.Uploads ?? []).map(({ Key = "", UploadId }) => ({ Key: decoded(Key), UploadId }));
    from = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker && decoded(page.NextKeyMarker), UploadIdMarker: page.NextUploadIdMarker }
      : undefined;
  }
}

/** XML 1.0 cannot carry most control characters, U+FFFE and U+FFFF, and keys may hold them: stores encode keys on request. */
function where({ bucket, prefix }: Area) {
  return { Bucket: bucket, EncodingType: "url" as const, ...(prefix !== "" && { Prefix: prefix }) };
}

/** Stores that do not know the encoding do not repeat its name in their answer, and send keys as they are. */
function decoderFor(encoding: string | undefined): (text: string) => string {
  return encoding === "url" ? decodedFormText : (text) => text;
}

function decodedFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // not encoded after all
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

async function unlessUnsupported<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isUnsupported(error)) return undefined;
    throw error;
  }
}

function isUnsupported(error: unknown): boolean {
  return error instanceof DriverError && error.kind === "unsupported";
}
