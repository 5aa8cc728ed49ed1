/** The gRPC codes of the CSI controller service when the object store fails: the real service, a real store, and faults between them. */
import { randomBytes } from "node:crypto";
import { CreateBucketCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { rootAccount, tenantAccount } from "../../lab/s3.ts";
import { s3Client } from "../../lab/s3-client.ts";
import type { CreateVolumeRequest } from "../../src/csi/gen/csi.ts";
import { bucketNames, tagsOf } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { bucketOf, provisioningOfFile } from "../support/faulty-provisioning.ts";
import type { Fault } from "../support/faulty-s3.ts";

const cluster = openCluster();
const { s3 } = cluster;
const stage = await provisioningOfFile(cluster);
const { faulty, provisioner, request } = stage;

const rootSecrets = { access_key_id: rootAccount.accessKeyId, secret_access_key: rootAccount.secretAccessKey };

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
  ["a gateway without a route to the store", gatewayLost, "UNAVAILABLE"],
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
    await using nowhere = await CsiControllerProcess.start(cluster, { s3: "http://127.0.0.1:9" });
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
    ["unknown parameters", { parameters: { unknown: "x" } }, "OK"],
    ["another size", { capacityRange: { requiredBytes: 11n, limitBytes: 0n } }, "ALREADY_EXISTS"],
    ["another policy", { parameters: { deletePolicy: "purge" } }, "ALREADY_EXISTS"],
    ["other tags", { parameters: { tags: "a=b" } }, "ALREADY_EXISTS"],
  ] as const)("DS-4 a second request of the same name with %s → %s", async ([, change, code]) => {
    const wanted = request();
    const { volume } = await provisioner.controller.createVolume(wanted);
    const again = provisioner.controller.createVolume({ ...wanted, ...change });
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

  it("DS-5 a bucket of our account whose tags name another volume is not adopted", async () => {
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
    ["does not let the account tag", { do: "answer", status: 403, code: "AccessDenied" }],
  ] as const)("a store that %s provisions all the same, and again", async ([, fault]) => {
    faulty.break(/tagging$/, fault);
    const wanted = request();
    const { volume } = await provisioner.controller.createVolume(wanted);
    await expect(provisioner.controller.createVolume(wanted)).resolves.toEqual({ volume });
    await expect(
      provisioner.controller.createVolume(request({ parameters: { tags: "team=a" } })),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining("parameters.tags") });
    expect(await bucketNames(s3)).not.toContain(stage.made.at(-1));
  });

  it("takes no more than three requests to the store", async () => {
    await provisioner.controller.createVolume(request());
    expect(faulty.lines).toHaveLength(3);
  });
});

describe("DeleteVolume", () => {
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

  it.for(faults.filter(([, fault]) => fault.do !== "hang"))(
    "DS-2, PR-1 %s while the store is asked what the bucket holds → it stays, the code says why",
    async ([, fault, code]) => {
      const { volume } = await provisioner.controller.createVolume(request());
      const volumeId = volume?.volumeId ?? "";
      faulty.break(/^GET /, fault);
      await expect(provisioner.controller.deleteVolume({ volumeId, secrets: {} })).rejects.toMatchObject({
        code: status[code],
      });
      expect(faulty.lines.filter((line) => line.startsWith("DELETE "))).toEqual([]);
      expect(await bucketNames(s3)).toContain(volumeId);
    },
  );

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
    stage.made.push(bucket);
    await cluster.makeBucket(bucket);
    await provisioner.controller.deleteVolume({ volumeId: bucket, secrets: {} });
    expect(await bucketNames(s3)).toContain(bucket);
  });
});

it("PR-1 a shared bucket is missing only if the store says so", async () => {
  const sharedBucket = `t-${randomBytes(4).toString("hex")}`;
  const wanted = createRequest({ parameters: { sharedBucket } });
  await expect(provisioner.controller.createVolume(wanted)).rejects.toMatchObject({ code: status.NOT_FOUND });
  stage.made.push(sharedBucket);
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
