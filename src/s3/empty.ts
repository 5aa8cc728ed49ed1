/** Empties a bucket, or a prefix of it, page by page: a repeated call continues where an aborted one stopped. */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import type { Slots } from "../runtime/slots.ts";
import { storeCode, storeError } from "./error.ts";
import { type Area, type ObjectVersion, objectPages, type Upload, uploadPages } from "./listing.ts";
import { realKeyOf, replacement } from "./real-key.ts";

export interface EmptyingParts {
  readonly client: S3Client;
  /** Limits requests that remove one object each: they are many, and share their connections with calls for other tenants. */
  readonly slots: Slots;
  /** Removes credentials from a message of the store. */
  readonly masked: (text: string) => string;
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
    (page) => parts.slots.forEach(call, page, (upload) => endUpload(call, client, area, upload)),
  );
}

/** One pass is not enough: stores lose their position in a list whose entries vanish, and report its end too early. */
async function untilNothingIsListed<Entry extends { readonly Key: string }>(
  area: Area,
  list: () => AsyncIterable<readonly Entry[]>,
  remove: (page: readonly Entry[]) => Promise<void>,
): Promise<void> {
  let before: Entry | undefined;
  while (true) {
    let first: Entry | undefined;
    for await (const page of list()) {
      if (page.length === 0) continue;
      refuseOutside(area, page);
      first ??= page[0];
      if (isDeepStrictEqual(first, before)) throw stillListed(area, first?.Key ?? "");
      await remove(page);
    }
    if (first === undefined) return;
    before = first;
  }
}

/** With a store that ignores the prefix, the driver would remove the data of other volumes. */
function refuseOutside({ bucket, prefix }: Area, page: readonly { readonly Key: string }[]): void {
  const outside = page.find(({ Key }) => !Key.startsWith(prefix));
  if (outside === undefined) return;
  throw new DriverError("notReady", `the store listed ${outside.Key} below ${prefix} of bucket ${bucket}`, {
    hint: "Remove the objects of the volume by hand: the store does not list by prefix, and nothing outside of the prefix was removed.",
  });
}

function stillListed({ bucket }: Area, key: string): DriverError {
  return new DriverError("notReady", `${key} of bucket ${bucket} was removed and is still listed`, {
    hint: "Check whether a retention or a legal hold protects it, or a client writes it again; the deletion is repeated.",
  });
}

async function removeObjects(
  call: Call,
  parts: EmptyingParts,
  area: Area,
  objects: readonly ObjectVersion[],
): Promise<void> {
  const together = objects.filter(({ Key }) => xmlText.test(Key));
  if (together.length > 0) await removeTogether(call, parts, area, together);
  const others = objects.filter(({ Key }) => !xmlText.test(Key));
  await parts.slots.forEach(call, others, (object) => removeOne(call, parts.client, area, object));
}

/** DeleteObjects names objects in XML 1.0, which has only these characters. U+FFFD is left out: it may stand for another one. */
const xmlText = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffc\u{10000}-\u{10ffff}]*$/u;

async function removeTogether(
  call: Call,
  { client, masked }: EmptyingParts,
  { bucket }: Area,
  objects: readonly ObjectVersion[],
): Promise<void> {
  const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [...objects], Quiet: true } });
  command.middlewareStack.add((next) => (args) => next(withMd5(args)), { step: "build", priority: "low" });
  const { Errors = [] } = await sent(call, `remove objects of bucket ${bucket}`, client.send(command, stop(call)));
  const [first] = Errors;
  if (first === undefined) return;
  const refusal = Object.assign(new Error(masked(first.Message ?? "")), { name: first.Code ?? "Error" });
  throw storeError(call.signal, `remove object ${first.Key} of bucket ${bucket}`, refusal);
}

async function removeOne(call: Call, client: S3Client, { bucket }: Area, object: ObjectVersion): Promise<void> {
  const Key = await realKey(object.Key, (prefix) => objectPages(call, client, { bucket, prefix }, 1));
  // Stores without versions list an empty version id, and refuse it in a URL.
  const command = new DeleteObjectCommand({ Bucket: bucket, Key, VersionId: object.VersionId || undefined });
  await sent(call, `remove object ${Key} of bucket ${bucket}`, client.send(command, stop(call)));
}

async function endUpload(
  call: Call,
  client: S3Client,
  { bucket }: Area,
  { Key: key, UploadId }: Upload,
): Promise<void> {
  const Key = await realKey(key, (prefix) => uploadPages(call, client, { bucket, prefix }, 1));
  const command = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId });
  try {
    await client.send(command, stop(call));
  } catch (error) {
    if (storeCode(error) === "NoSuchUpload") return; // the upload was completed or aborted in the meantime
    throw storeError(call.signal, `end the upload of ${Key} in bucket ${bucket}`, error);
  }
}

type Pages = (prefix: string) => AsyncIterable<readonly { readonly Key: string }[]>;

async function realKey(listed: string, below: Pages): Promise<string> {
  if (!listed.includes(replacement)) return listed;
  const firstBelow = async (prefix: string) => {
    for await (const [first] of below(prefix)) if (first !== undefined) return first.Key;
    return undefined;
  };
  return (await realKeyOf(listed, firstBelow)) ?? listed;
}

/** S3 requires a checksum for this request, and older stores support only Content-MD5. */
function withMd5<Args extends { readonly request: unknown }>(args: Args): Args {
  const request = args.request as { readonly body: string; readonly headers: Record<string, string> };
  request.headers["content-md5"] = createHash("md5").update(request.body).digest("base64");
  return args;
}

function stop({ signal }: Call) {
  return { abortSignal: signal };
}

async function sent<Answer>(call: Call, doing: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw storeError(call.signal, doing, error);
  }
}
