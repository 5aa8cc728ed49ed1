/** Emptying a bucket, or what lies below a prefix of it: in pages, so that whoever is stopped goes on where it was. */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ObjectIdentifier,
  type S3Client,
} from "@aws-sdk/client-s3";
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { storeCode, storeError } from "./error.ts";

export interface Area {
  readonly bucket: string;
  /** Empty: the whole bucket. */
  readonly prefix: string;
}

export interface EmptyingParts {
  readonly client: S3Client;
  /** Removes credentials from a text of the store. */
  readonly masked: (text: string) => string;
}

export async function hasObjects(call: Call, client: S3Client, area: Area): Promise<boolean> {
  for await (const page of objectPages(call, client, area)) if (page.length > 0) return true;
  return false;
}

export async function empty(call: Call, parts: EmptyingParts, area: Area): Promise<void> {
  const { client } = parts;
  let removed = 0;
  await untilNothingIsListed(
    area,
    () => objectPages(call, client, area),
    async (page) => {
      await removeObjects(call, parts, area, page);
      removed += page.length;
      call.log.info("removing objects", { bucket: area.bucket, prefix: area.prefix, removed });
    },
  );
  await untilNothingIsListed(
    area,
    () => uploadPages(call, client, area),
    async (page) => {
      const aborts = page.map(({ Key, UploadId }) => {
        const command = new AbortMultipartUploadCommand({ Bucket: area.bucket, Key, UploadId });
        return sent(call, area, client.send(command, stop(call)));
      });
      await Promise.all(aborts.map((abort) => abort.catch(ignoreMissing)));
    },
  );
}

/** Once is not enough: stores lose their place in a listing whose entries vanish, and call it complete. */
async function untilNothingIsListed<Entry extends { readonly Key?: string | undefined }>(
  { bucket }: Area,
  list: () => AsyncIterable<readonly Entry[]>,
  remove: (page: readonly Entry[]) => Promise<void>,
): Promise<void> {
  let before: Entry | undefined;
  while (true) {
    let first: Entry | undefined;
    for await (const page of list()) {
      if (page.length === 0) continue;
      first ??= page[0];
      if (isDeepStrictEqual(first, before)) {
        throw new DriverError("notReady", `${first?.Key} of bucket ${bucket} was removed and is still listed`, {
          hint: "Look whether a retention or a legal hold protects it, or somebody writes it again; the deletion is repeated.",
        });
      }
      await remove(page);
    }
    if (first === undefined) return;
    before = first;
  }
}

/** With every version and every mark of a deletion; a store without versions lists what there is. */
async function* objectPages(call: Call, client: S3Client, area: Area): AsyncGenerator<readonly ObjectIdentifier[]> {
  try {
    yield* versionPages(call, client, area);
  } catch (error) {
    if (!(error instanceof DriverError && error.kind === "unsupported")) throw error;
    yield* plainPages(call, client, area);
  }
}

async function* versionPages(call: Call, client: S3Client, area: Area): AsyncGenerator<readonly ObjectIdentifier[]> {
  let from: { readonly KeyMarker?: string | undefined; readonly VersionIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListObjectVersionsCommand = new ListObjectVersionsCommand({ ...where(area), ...from });
    const page = await sent(call, area, client.send(command, stop(call)));
    yield [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(({ Key, VersionId }) => ({ Key, VersionId }));
    from = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker || undefined }
      : undefined;
  }
}

async function* plainPages(call: Call, client: S3Client, area: Area): AsyncGenerator<readonly ObjectIdentifier[]> {
  let more = true;
  let token: string | undefined;
  while (more) {
    const command: ListObjectsV2Command = new ListObjectsV2Command({ ...where(area), ContinuationToken: token });
    const page = await sent(call, area, client.send(command, stop(call)));
    yield (page.Contents ?? []).map(({ Key }) => ({ Key }));
    token = page.NextContinuationToken;
    more = page.IsTruncated === true;
  }
}

async function removeObjects(
  call: Call,
  { client, masked }: EmptyingParts,
  area: Area,
  objects: readonly ObjectIdentifier[],
): Promise<void> {
  if (objects.length === 0) return;
  const command = new DeleteObjectsCommand({ Bucket: area.bucket, Delete: { Objects: [...objects], Quiet: true } });
  command.middlewareStack.add((next) => (args) => next(withMd5(args)), { step: "build", priority: "low" });
  const { Errors = [] } = await sent(call, area, client.send(command, stop(call)));
  const [first] = Errors;
  if (first === undefined) return;
  const refusal = Object.assign(new Error(masked(first.Message ?? "")), { name: first.Code ?? "Error" });
  throw storeError(call.signal, `remove object ${first.Key} of bucket ${area.bucket}`, refusal);
}

/** S3 asks for one checksum of this request; stores that are older than the SDK's know only this one. */
function withMd5<Args extends { readonly request: unknown }>(args: Args): Args {
  const request = args.request as { readonly body: string; readonly headers: Record<string, string> };
  request.headers["content-md5"] = createHash("md5").update(request.body).digest("base64");
  return args;
}

interface Upload {
  readonly Key: string | undefined;
  readonly UploadId: string | undefined;
}

async function* uploadPages(call: Call, client: S3Client, area: Area): AsyncGenerator<readonly Upload[]> {
  let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ ...where(area), ...from });
    const page = await sent(call, area, client.send(command, stop(call)));
    yield (page.Uploads ?? []).map(({ Key, UploadId }) => ({ Key, UploadId }));
    from = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined;
  }
}

function where({ bucket, prefix }: Area) {
  return { Bucket: bucket, ...(prefix !== "" && { Prefix: prefix }) };
}

function stop({ signal }: Call) {
  return { abortSignal: signal };
}

async function sent<Answer>(call: Call, { bucket }: Area, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw storeError(call.signal, `empty bucket ${bucket}`, error);
  }
}

/** Somebody finished or ended the upload meanwhile. */
function ignoreMissing(error: unknown): void {
  const cause = error instanceof DriverError ? error.cause : error;
  if (storeCode(cause) !== "NoSuchUpload") throw error;
}
