/** What the provisioner is told when the object store fails: the real service, a real store, and faults on the way between them. */
import { randomBytes } from "node:crypto";
import { CreateBucketCommand, CreateMultipartUploadCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rootAccount, s3Endpoint, tenantAccount } from "../../lab/s3.ts";
import { s3Client } from "../../lab/s3-client.ts";
import { placeOf } from "../../src/core/dynamic-volume.ts";
import type { CreateVolumeRequest } from "../../src/csi/gen/csi.ts";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { type Fault, FaultyS3 } from "../support/faulty-s3.ts";
import { ProvisionerProcess } from "../support/provisioner-process.ts";

const cluster = openCluster();
const { s3 } = cluster;
const made: string[] = [];
let faulty: FaultyS3;
let provisioner: ProvisionerProcess;

beforeAll(async () => {
  faulty = await FaultyS3.before(s3Endpoint);
  provisioner = await ProvisionerProcess.start(cluster, { s3: faulty.url });
});

afterEach(async () => {
  faulty.restore();
  const left = await bucketNames(s3);
  for (const bucket of made.splice(0).filter((each) => left.includes(each))) await cluster.removeBucket(bucket);
});

afterAll(async () => {
  await provisioner[Symbol.asyncDispose]();
  await faulty[Symbol.asyncDispose]();
});

const rootSecrets = { access_key_id: rootAccount.accessKeyId, secret_access_key: rootAccount.secretAccessKey };

/** A request of a name of its own; its bucket goes with the test. */
function request(wish: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest {
  const wanted = createRequest({ capacityRange: { requiredBytes: 10n, limitBytes: 0n }, ...wish });
  made.push(bucketOf(wanted.name));
  return wanted;
}

function bucketOf(name: string): string {
  return placeOf(name, { kind: "own" }).bucket;
}

type Row = readonly [what: string, fault: Fault, code: keyof typeof status];

/** As some gateways say it while they have no rules. */
const gatewayLost = { do: "answer", status: 404, text: "404 page not found\n" } as const satisfies Fault;

const faults: readonly Row[] = [
  ["refused access", { do: "answer", status: 403, code: "AccessDenied" }, "PERMISSION_DENIED"],
  ["an unknown key", { do: "answer", status: 403, code: "InvalidAccessKeyId" }, "UNAUTHENTICATED"],
  ["a wrong signature", { do: "answer", status: 403, code: "SignatureDoesNotMatch" }, "UNAUTHENTICATED"],
  ["an expired token", { do: "answer", status: 400, code: "ExpiredToken" }, "UNAUTHENTICATED"],
  ["a failure of the store", { do: "answer", status: 500, code: "InternalError" }, "UNAVAILABLE"],
  ["a store that asks to slow down", { do: "answer", status: 503, code: "SlowDown" }, "UNAVAILABLE"],
  ["a gateway that knows no way to the store", gatewayLost, "UNAVAILABLE"],
  ["no answer", { do: "hang" }, "UNAVAILABLE"],
  ["a cut connection", { do: "cut" }, "UNAVAILABLE"],
];

describe("CreateVolume", () => {
  it.for(faults)("PR-1 %s → no bucket, and the code says why", async ([, fault, code]) => {
    const wanted = request();
    faulty.break(/^PUT \/csi-s3-/, fault);
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status[code] });
    expect(await bucketNames(s3)).not.toContain(bucketOf(wanted.name));
    faulty.restore();
    const { volume } = await provisioner.controller.createVolume(wanted);
    expect(await bucketNames(s3)).toContain(volume?.volumeId);
  });

  it.for([
    ["no secret access key", { access_key_id: "x" }, "INVALID_ARGUMENT"],
    ["an unknown key", { ...rootSecrets, access_key_id: "nobody" }, "UNAUTHENTICATED"],
    ["a wrong key", { ...rootSecrets, secret_access_key: "wrong" }, "UNAUTHENTICATED"],
  ] as const)("PR-1 a Secret with %s → %s", async ([, secrets, code]) => {
    await expect(provisioner.controller.createVolume(request({ secrets }))).rejects.toMatchObject({
      code: status[code],
    });
  });

  it("PR-1 a call while another one for the same volume runs → Aborted", async () => {
    const wanted = request();
    faulty.break(/^PUT \/csi-s3-/, { do: "hang" });
    const first = provisioner.controller.createVolume(wanted);
    await expect.poll(() => faulty.lines.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.ABORTED });
    await expect(first).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it("PR-1 a store that cannot be reached → Unavailable, also without any credentials to blame", async () => {
    await using nowhere = await ProvisionerProcess.start(cluster, { s3: "http://127.0.0.1:9" });
    await expect(nowhere.controller.createVolume(request())).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("DS-4 a connection cut after the bucket was made: the repetition finds it, and there is exactly one", async () => {
    const before = await bucketNames(s3);
    const wanted = request();
    faulty.break(/^PUT \/csi-s3-[^?]*$/, { do: "cutAfterwards" }, 1);
    const { volume } = await provisioner.controller.createVolume(wanted);
    const now = await bucketNames(s3);
    expect(now.filter((bucket) => !before.includes(bucket))).toEqual([volume?.volumeId]);
  });

  it("DS-4 killed after the bucket was made: the next controller finds it, marks it, and there is exactly one", async () => {
    const before = await bucketNames(s3);
    const wanted = request();
    await using first = await ProvisionerProcess.start(cluster, { s3: faulty.url });
    const killed = Promise.withResolvers<void>();
    faulty.break(/^PUT \/csi-s3-[^?]*$/, { do: "cutAfterwards", done: () => killed.resolve(first.kill()) }, 1);
    await expect(first.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await killed.promise;
    expect(await bucketNames(s3)).toContain(bucketOf(wanted.name));

    const { volume } = await provisioner.controller.createVolume(wanted);

    const now = await bucketNames(s3);
    expect(now.filter((bucket) => !before.includes(bucket))).toEqual([volume?.volumeId]);
    expect(await tagsOf(s3, bucketOf(wanted.name))).toMatchObject({ "s3.csi.scality.com/pv-name": wanted.name });
  });

  it("DS-4 calls at the same time make one bucket", async () => {
    const before = await bucketNames(s3);
    const wanted = request();
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, () => provisioner.controller.createVolume(wanted)),
    );
    const codes = answers.map((answer) =>
      answer.status === "fulfilled" ? status.OK : (answer.reason as { code: status }).code,
    );
    expect(new Set(codes)).toEqual(new Set([status.OK, status.ABORTED]));
    const now = await bucketNames(s3);
    expect(now.filter((bucket) => !before.includes(bucket))).toEqual([bucketOf(wanted.name)]);
  });

  it.for([
    ["the same", {}, "OK"],
    ["parameters that nobody knows", { parameters: { unknown: "x" } }, "OK"],
    ["another size", { capacityRange: { requiredBytes: 11n, limitBytes: 0n } }, "ALREADY_EXISTS"],
    ["another policy", { parameters: { deletePolicy: "purge" } }, "ALREADY_EXISTS"],
    ["other tags", { parameters: { tags: "a=b" } }, "ALREADY_EXISTS"],
  ] as const)("DS-4 a second request of the same name with %s → %s", async ([, wish, code]) => {
    const wanted = request();
    const { volume } = await provisioner.controller.createVolume(wanted);
    const again = provisioner.controller.createVolume({ ...wanted, ...wish });
    const outcome = await again.then(
      (answer) => ({ code: status.OK, id: answer.volume?.volumeId }),
      (error: { code: status }) => ({ code: error.code, id: volume?.volumeId }),
    );
    expect(outcome).toEqual({ code: status[code], id: volume?.volumeId });
  });

  it("DS-5 a bucket of another account is not adopted, nor touched", async () => {
    const wanted = request();
    const tenant = s3Client(cluster.lab.layout.s3Socket, tenantAccount);
    await tenant.send(new CreateBucketCommand({ Bucket: bucketOf(wanted.name) }));
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.ALREADY_EXISTS });
    await expect(tagsOf(tenant, bucketOf(wanted.name))).rejects.toMatchObject({ name: "NoSuchTagSet" });
  });

  it("DS-5 a bucket of our account that is marked as that of another volume is not adopted", async () => {
    const other = request();
    const wanted = request();
    await provisioner.controller.createVolume(other);
    const tags = await tagsOf(s3, bucketOf(other.name));
    await cluster.makeBucket(bucketOf(wanted.name), tags);
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({
      code: status.ALREADY_EXISTS,
      details: expect.stringContaining(bucketOf(other.name)),
    });
    expect(await tagsOf(s3, bucketOf(wanted.name))).toEqual(tags);
  });

  it.for([
    ["has no tags", { do: "answer", status: 501, code: "NotImplemented" }],
    ["allows nobody to tag", { do: "answer", status: 403, code: "AccessDenied" }],
  ] as const)("a store that %s provisions all the same, and again", async ([, fault]) => {
    faulty.break(/tagging$/, fault);
    const wanted = request();
    const { volume } = await provisioner.controller.createVolume(wanted);
    await expect(provisioner.controller.createVolume(wanted)).resolves.toEqual({ volume });
    await expect(
      provisioner.controller.createVolume(request({ parameters: { tags: "team=a" } })),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining("parameters.tags") });
    expect(await bucketNames(s3)).not.toContain(made.at(-1));
  });

  it("DS-4 keys that are revoked once the bucket is made: the provisioner is told to come back, and then finds it", async () => {
    const wanted = request();
    const revoked = { do: "answer", status: 403, code: "InvalidAccessKeyId" } as const;
    faulty.break(/^GET .*tagging$/, revoked);
    faulty.break(/^DELETE /, revoked);
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining("InvalidAccessKeyId"),
    });
    expect(await bucketNames(s3)).toContain(bucketOf(wanted.name));
    faulty.restore();
    await expect(provisioner.controller.createVolume(wanted)).resolves.toMatchObject({ volume: {} });
  });

  it("DS-4 a bucket that was made, and whose tags the store refuses to tell, is taken back before the call fails for good", async () => {
    const wanted = request();
    faulty.break(/^GET .*tagging$/, { do: "answer", status: 400, code: "InvalidRequest" });
    await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await bucketNames(s3)).not.toContain(bucketOf(wanted.name));
  });

  it("takes no more than three requests to the store", async () => {
    await provisioner.controller.createVolume(request());
    expect(faulty.lines).toHaveLength(3);
  });
});

describe("DeleteVolume", () => {
  const deletionOfBucket = /^DELETE \/[^/]+\/?$/;

  it.for(faults)("DS-2, PR-1 %s → the bucket stays, the code says why; repaired, it goes", async ([, fault, code]) => {
    const { volume } = await provisioner.controller.createVolume(request());
    const volumeId = volume?.volumeId ?? "";
    faulty.break(/^DELETE /, fault);
    await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
      code: status[code],
    });
    expect(await bucketNames(s3)).toContain(volumeId);
    faulty.restore();
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
    expect(await bucketNames(s3)).not.toContain(volumeId);
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} }); // gone already: what was wanted
  });

  it.for(["delete-if-empty", "purge"] as const)(
    "DS-2 %s: a 404 in other words than those of S3 is no deletion, and the fix is named",
    async (deletePolicy) => {
      const { volume } = await provisioner.controller.createVolume(request({ parameters: { deletePolicy } }));
      const volumeId = volume?.volumeId ?? "";
      for (const text of [gatewayLost.text, "", "<html><body><h1>404 Not Found</h1></body></html>"]) {
        faulty.break(/./, { ...gatewayLost, text });
        await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
          code: status.UNAVAILABLE,
          details: expect.stringMatching(
            new RegExp(`HTTP 404, and not in the words of S3.*s3.endpointUrl, ${faulty.url}`),
          ),
        });
        faulty.restore();
      }
      expect(await bucketNames(s3)).toContain(volumeId);
      await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
      expect(await bucketNames(s3)).not.toContain(volumeId);
    },
  );

  it("DS-2 a connection cut after the bucket was deleted is a success", async () => {
    const { volume } = await provisioner.controller.createVolume(request());
    faulty.break(/^DELETE /, { do: "cutAfterwards" }, 1);
    await provisioner.controller.deleteVolume({ volumeId: volume?.volumeId ?? "", secrets: {} });
    expect(await bucketNames(s3)).not.toContain(volume?.volumeId);
  });

  it("DS-2 an id that was never given to a volume deletes nothing, even if there is a bucket of that name", async () => {
    const bucket = `t-${randomBytes(4).toString("hex")}`;
    made.push(bucket);
    await cluster.makeBucket(bucket);
    await provisioner.controller.deleteVolume({ volumeId: bucket, secrets: {} });
    expect(await bucketNames(s3)).toContain(bucket);
  });

  it("DS-3 without a PersistentVolume the policy is that on the bucket", async () => {
    const purge = request({ parameters: { deletePolicy: "purge" } });
    const plain = request();
    for (const wanted of [purge, plain]) {
      await provisioner.controller.createVolume(wanted);
      await s3.send(new PutObjectCommand({ Bucket: bucketOf(wanted.name), Key: "a", Body: "a" }));
      await provisioner.controller.deleteVolume({ volumeId: bucketOf(wanted.name), secrets: {} });
    }
    const left = await bucketNames(s3);
    expect(left).not.toContain(bucketOf(purge.name));
    expect(left).toContain(bucketOf(plain.name));
  });

  it("DS-3 a store that keeps a bucket for an unfinished upload: the bucket is kept, and the volume goes", async () => {
    const wanted = request();
    const volumeId = bucketOf(wanted.name);
    await provisioner.controller.createVolume(wanted);
    faulty.break(deletionOfBucket, { do: "answer", status: 409, code: "MPUinProgress" });
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
    expect(await tagsOf(s3, volumeId)).toMatchObject({ "s3.csi.scality.com/kept": "notEmpty" });
  });

  it("DS-3 purge ends unfinished uploads before it asks for the deletion of the bucket", async () => {
    const wanted = request({ parameters: { deletePolicy: "purge" } });
    const volumeId = bucketOf(wanted.name);
    await provisioner.controller.createVolume(wanted);
    await s3.send(new CreateMultipartUploadCommand({ Bucket: volumeId, Key: "unfinished" }));
    faulty.restore();
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
    const deletions = faulty.lines.filter((line) => line.startsWith("DELETE "));
    expect(deletions).toEqual([`DELETE /${volumeId}/unfinished?uploadId`, expect.stringMatching(deletionOfBucket)]);
    expect(await bucketNames(s3)).not.toContain(volumeId);
  });

  it("DS-3 a bucket that is kept is a metric with its name", async () => {
    await using counting = await ProvisionerProcess.start(cluster, {
      s3: faulty.url,
      flags: ["--health-port=0", "--metrics"],
    });
    const wanted = request();
    await counting.controller.createVolume(wanted);
    await s3.send(new PutObjectCommand({ Bucket: bucketOf(wanted.name), Key: "a", Body: "a" }));
    await counting.controller.deleteVolume({ volumeId: bucketOf(wanted.name), secrets: {} });
    const [, port] = /"serving health","port":(\d+)/.exec(counting.log) ?? [];
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain(`s3_csi_kept_buckets_total{bucket="${bucketOf(wanted.name)}",because="notEmpty"} 1`);
  });

  it("DS-3 purging goes on where it was stopped", async () => {
    const wanted = request({ parameters: { deletePolicy: "purge" } });
    const volumeId = bucketOf(wanted.name);
    await provisioner.controller.createVolume(wanted);
    const keys = Array.from({ length: 5 }, (_, index) => `dir/${index}`);
    for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket: volumeId, Key, Body: "a" }));
    faulty.break(/^POST .*delete$/, { do: "cutAfterwards" });
    await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
    faulty.restore();
    await provisioner.controller.deleteVolume({ volumeId, secrets: {} });
    expect(await bucketNames(s3)).not.toContain(volumeId);
  });
});

it("PR-1 a shared bucket is missing only if the store says so", async () => {
  const sharedBucket = `t-${randomBytes(4).toString("hex")}`;
  const wanted = createRequest({ parameters: { sharedBucket } });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.NOT_FOUND });
  made.push(sharedBucket);
  await cluster.makeBucket(sharedBucket);
  faulty.break(/./, gatewayLost);
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  faulty.restore();
  await expect(provisioner.controller.createVolume(wanted)).resolves.toMatchObject({ volume: {} });
});

it("PR-2 capabilities are confirmed or explained, and a volume that is not there is not found", async () => {
  const wanted = request();
  const { volume } = await provisioner.controller.createVolume(wanted);
  const ask = (volumeId: string, volumeCapabilities: CreateVolumeRequest["volumeCapabilities"]) =>
    provisioner.controller.validateVolumeCapabilities({
      volumeId,
      volumeCapabilities,
      volumeContext: {},
      parameters: {},
      secrets: {},
      mutableParameters: {},
    });
  const { volumeCapabilities } = wanted;
  await expect(ask(volume?.volumeId ?? "", volumeCapabilities)).resolves.toMatchObject({
    confirmed: { volumeCapabilities },
  });
  const block = [{ accessType: { $case: "block", value: {} }, accessMode: { mode: 1 } }] as const;
  const refused = await ask(volume?.volumeId ?? "", block);
  expect(refused).toMatchObject({ confirmed: undefined, message: expect.stringContaining("block device") });
  await expect(ask(bucketOf("nobody"), volumeCapabilities)).rejects.toMatchObject({ code: status.NOT_FOUND });
  await expect(provisioner.controller.createVolume(request({ volumeCapabilities: block }))).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
});

it("no key is in the log, whatever failed", async () => {
  await provisioner.controller.createVolume(request({ secrets: rootSecrets }));
  expect(provisioner.log).toContain("CreateVolume");
  expect(provisioner.log).not.toContain(rootAccount.secretAccessKey);
});
