/** Failed calls give the texts by which docs/reference/events.md names their cause, with a fix: the real service, and faults before its store. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { beforeAll, expect, it } from "vitest";
import { type FailureCause, failureCause } from "../../src/core/failures/call-failures.ts";
import type { NodeName } from "../../src/core/names.ts";
import type { CreateVolumeRequest } from "../../src/csi/gen/csi.ts";
import { Attachments } from "../../src/node/cluster/attachments.ts";
import type { PublishIntent } from "../../src/node/publish/publish-request.ts";
import { deadline } from "../../src/runtime/call.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import type { Fault } from "../support/faulty-s3.ts";
import { installAttachmentKind, Stage } from "../support/stage.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

beforeAll(() => installAttachmentKind(cluster));

const says = (status: number, code: string): Fault => ({ do: "answer", status, code });

it.for<[Fault, FailureCause, RegExp]>([
  [says(400, "AuthorizationHeaderMalformed"), "wrongRegion", /s3\.region/],
  [says(403, "RequestTimeTooSkewed"), "clockSkew", /clock of the node/],
  [says(403, "InvalidAccessKeyId"), "unknownAccessKey", /Check access_key_id/],
  [says(403, "SignatureDoesNotMatch"), "wrongSecretKey", /secret_access_key/],
  [says(400, "ExpiredToken"), "expiredToken", /session_token/],
  [says(400, "TooManyBuckets"), "quotaOfStore", /raise the limit/],
  [says(403, "AccessDenied"), "accessDenied", /right/],
  [says(503, "SlowDown"), "storeOverloaded", /repeated/],
  [says(409, "BucketAlreadyExists"), "bucketTaken", /another name/],
  [{ do: "answer", status: 404, text: "404 page not found\n" }, "notTheStore", /s3\.endpointUrl/],
  [{ do: "cut" }, "endpointUnreachable", /endpoint/],
])("OP-4 the store answers a creation with %j → %s, and the text names the fix", async ([fault, cause, fix]) => {
  faulty.break(/^PUT \/csi-s3-/, fault);
  const text = await textOf(provisioner.controller.createVolume(request()));
  expectCause(text, cause);
  expect(text).toMatch(fix);
});

const block = {
  volumeCapabilities: [{ accessType: { $case: "block" as const, value: {} }, accessMode: { mode: 5 } }],
} satisfies Partial<CreateVolumeRequest>;

it.for<[FailureCause, Partial<CreateVolumeRequest>, RegExp]>([
  ["blockVolume", block, /volumeMode Filesystem/],
  [
    "dataSource",
    { volumeContentSource: { type: { $case: "volume", value: { volumeId: "other" } } } },
    /remove dataSource/,
  ],
  ["sharedBucketMissing", { parameters: { sharedBucket: "no-such-bucket-at-all" } }, /Create the bucket/],
  ["refusedParameter", { parameters: { deletePolicy: "shred" } }, /In the StorageClass/],
  ["secretIncomplete", { secrets: { access_key_id: "x" } }, /Correct secret_access_key/],
])("OP-4 a claim that cannot be served → %s, and the text names the fix", async ([cause, wish, fix]) => {
  const text = await textOf(provisioner.controller.createVolume(request(wish)));
  expectCause(text, cause);
  expect(text).toMatch(fix);
});

it("OP-4 neither the class nor the driver has credentials → noDriverCredentials, and the text names the fix", async () => {
  await using poor = await stage.another({ account: undefined });
  const text = await textOf(poor.controller.createVolume(request()));
  expectCause(text, "noDriverCredentials");
  expect(text).toMatch(/create the driver's Secret/);
});

it("OP-4 the store does not let buckets be tagged → tagsRefused or purgeNeedsTags, and the text names the fix", async () => {
  faulty.break(/^PUT .*\?tagging$/, says(403, "AccessDenied"));
  const tags = await textOf(provisioner.controller.createVolume(request({ parameters: { tags: "team=a" } })));
  expectCause(tags, "tagsRefused");
  expect(tags).toMatch(/remove tags from the StorageClass/);
  const purge = await textOf(provisioner.controller.createVolume(request({ parameters: { deletePolicy: "purge" } })));
  expectCause(purge, "purgeNeedsTags");
  expect(purge).toMatch(/s3:PutBucketTagging/);
});

it("OP-4 a call while another one for the volume runs → repeated", async () => {
  const wanted = request();
  faulty.break(/^PUT \/csi-s3-/, { do: "hang" });
  const first = textOf(provisioner.controller.createVolume(wanted));
  await expect.poll(() => faulty.lines.length, { timeout: 30_000 }).toBeGreaterThan(0);
  const text = await textOf(provisioner.controller.createVolume(wanted));
  expectCause(text, "repeated");
  await first;
});

it("OP-4 a bucket that refuse-until-empty keeps → bucketNotEmpty, and the text names the fix", async () => {
  const volumeId = await volumeWithObject("refuse-until-empty");
  const text = await textOf(provisioner.controller.deleteVolume({ volumeId, secrets: {} }));
  expectCause(text, "bucketNotEmpty");
  expect(text).toMatch(/remove the objects/);
});

it("OP-4 a purge without a PersistentVolume that proves the owner → purgeUnproven, and the text names the fix", async () => {
  const volumeId = await volumeWithObject("purge");
  const tags = await tagsOf(s3, volumeId);
  const otherCluster = { ...tags, "s3.csi.scality.com/cluster": "another" };
  faulty.break(/^GET .*\?tagging$/, { do: "answer", status: 200, text: taggingOf(otherCluster) });
  const text = await textOf(provisioner.controller.deleteVolume({ volumeId, secrets: {} }));
  expectCause(text, "purgeUnproven");
  expect(text).toMatch(/Nothing was deleted/);
});

it("OP-4 an object that does not go → objectProtected, and the text names the fix", async () => {
  const volumeId = await volumeWithObject("purge");
  faulty.break(/^POST .*delete$/, { do: "answer", status: 200, text: "<DeleteResult></DeleteResult>" });
  const text = await textOf(provisioner.controller.deleteVolume({ volumeId, secrets: {} }));
  expectCause(text, "objectProtected");
  expect(text).toMatch(/retention or a legal hold/);
});

it("OP-4 a bucket whose tags name another volume → bucketOfAnotherVolume, and the text names the fix", async () => {
  const [other, wanted] = [request(), request()];
  await provisioner.controller.createVolume(other);
  const volumeId = bucketOf(wanted.name);
  await cluster.makeBucket(volumeId, await tagsOf(s3, bucketOf(other.name)));
  const text = await textOf(provisioner.controller.deleteVolume({ volumeId, secrets: {} }));
  expectCause(text, "bucketOfAnotherVolume");
  expect(text).toMatch(/reclaim policy/);
});

it("OP-4 no controller makes an attachment → noAttachment, in the words of 2.x, and the text names the log", async () => {
  await using nodes = await Stage.open(cluster);
  const stop = new AbortController();
  const attachments = new Attachments("See: kubectl logs");
  const call = { ...nodes.call, signal: stop.signal };
  const following = attachments.follow(call, nodes.client, nodes.node as NodeName, new Progress());
  const intent = { workload: "u1", persistentVolume: "v", volumeId: "v" } as PublishIntent;
  using limited = deadline(call, 3000, "the volume to be mounted");
  const error = await attachments.waitForAssignment(limited, intent).catch((reason: Error) => reason);
  const { message } = error as Error;
  stop.abort();
  await following.catch(() => undefined);
  expect(message).toContain("Timed out waiting for MountpointS3PodAttachment");
  expect(failureCause(message)).toBe("noAttachment" satisfies FailureCause);
});

async function volumeWithObject(deletePolicy: string): Promise<string> {
  const wanted = request({ parameters: { deletePolicy } });
  const Bucket = bucketOf(wanted.name);
  await provisioner.controller.createVolume(wanted);
  await s3.send(new PutObjectCommand({ Bucket, Key: "a", Body: "a" }));
  return Bucket;
}

function taggingOf(tags: Readonly<Record<string, string>>): string {
  const set = Object.entries(tags).map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`);
  return `<Tagging><TagSet>${set.join("")}</TagSet></Tagging>`;
}

/** A failure of this shows the text. */
function expectCause(text: string, cause: FailureCause): void {
  expect({ text, cause: failureCause(text) }).toEqual({ text, cause });
}

/** The text that becomes an event; fails if the call succeeds. */
async function textOf(call: Promise<unknown>): Promise<string> {
  const outcome = await call.then(
    () => ({ details: "the call succeeded" }),
    (error: { details: string }) => error,
  );
  return outcome.details;
}
