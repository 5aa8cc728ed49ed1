/** Which credentials create and delete a bucket if a StorageClass or volume names a Secret: never the driver's without a report. */
import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { rootAccount, s3Endpoint } from "../../lab/s3.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { bucketNames, secretFor } from "../support/claims.ts";
import { openCluster, persistentVolumeManifest } from "../support/cluster.ts";
import { createRequest } from "../support/create-request.ts";
import { CsiControllerProcess } from "../support/csi-controller-process.ts";
import { bucketOf } from "../support/faulty-provisioning.ts";
import { type Faults, FaultyWay } from "../support/faulty-way.ts";
import { secretFields } from "../support/s3-accounts.ts";

const cluster = openCluster();
const noFallback = ["--no-driver-credentials-fallback"];

it("PR-10 without the fallback to the driver's credentials, a class with a node-publish Secret only is refused", async () => {
  await using claim = await claimOfClass(secretFor("node-publish", "keys", "default"));
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags: noFallback });
  const refused = provisioner.controller.createVolume(createRequest({ parameters: claim.parameters }));
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining(
      `StorageClass ${claim.name} names a node-publish Secret, but no provisioner Secret`,
    ),
  });
  await expect(refused).rejects.toThrow(failurePattern("fallbackRefused"));
});

it("PR-10 the beta annotation for the class, which takes precedence over the field, does not bypass the check", async () => {
  await using claim = await claimOfClass(secretFor("node-publish", "keys", "default"), "annotation");
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags: noFallback });
  const request = createRequest({ parameters: claim.parameters });
  await expect(provisioner.controller.createVolume(request)).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining(`StorageClass ${claim.name} names a node-publish Secret`),
  });
  expect(await bucketNames(cluster.s3)).not.toContain(bucketOf(request.name));
});

it("PR-10 a call that comes before the cache of classes is synced waits for it", async () => {
  await using claim = await claimOfClass(secretFor("node-publish", "keys", "default"));
  const fair: Faults = { fateOf: () => "passed", latenessMs: () => 0 };
  const withoutClasses: Faults = { ...fair, fateOf: (_method, path) => (isOfClasses(path) ? "held" : "passed") };
  await using path = await FaultyWay.open(cluster.lab.layout.kubeconfig, withoutClasses);
  const flags = [...noFallback, `--kubeconfig=${path.kubeconfig}`];
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags, until: "serving" });
  await expect.poll(() => path.requests.some(({ url = "" }) => isOfClasses(url))).toBe(true);
  const request = createRequest({ parameters: claim.parameters });
  const call = provisioner.controller.createVolume(request);
  call.catch(() => undefined);
  // It asks for the UID of the cluster before anything else.
  await expect.poll(() => path.requests.some(({ url = "" }) => url.includes("/namespaces/kube-system"))).toBe(true);
  path.become(fair);
  await expect(call).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(await bucketNames(cluster.s3)).not.toContain(bucketOf(request.name));
});

it.for([
  ["for provisioning", "provisioner-secret", []],
  ["for everything", "secret", []],
  ["without the fallback", "provisioner-secret", noFallback],
] as const)(
  "PR-10 a class names a Secret %s, and it is empty: no bucket is created with the driver's credentials",
  async ([, use, flags]) => {
    const secret = {
      [`csi.storage.k8s.io/${use}-name`]: "keys",
      [`csi.storage.k8s.io/${use}-namespace`]: "${pvc.namespace}",
    };
    await using claim = await claimOfClass({ ...secret, ...secretFor("node-publish", "keys", "default") });
    await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint, flags });
    const request = createRequest({ parameters: claim.parameters });
    await expect(provisioner.controller.createVolume(request)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining(
        `access_key_id in Secret default/keys is missing or empty: it is the provisioner Secret of StorageClass ${claim.name}`,
      ),
    });
    expect(await bucketNames(cluster.s3)).not.toContain(bucketOf(request.name));
  },
);

it("DS-2 a volume whose Secret for the deletion is gone or empty stays, and with it the bucket, until the Secret has credentials again", async () => {
  const name = `pvc-${randomBytes(8).toString("hex")}`;
  const volumeId = bucketOf(name);
  await using undo = new AsyncDisposableStack();
  await cluster.makeBucket(volumeId);
  const volume = persistentVolumeManifest({ namespace: "default", name }, volumeId, {
    csi: { volumeHandle: volumeId },
  });
  const annotations = { [noted("name")]: "keys", [noted("namespace")]: "default" };
  await cluster.apply({ ...volume, metadata: { name, annotations } });
  undo.defer(async () => void (await cluster.kubectl("delete", "pv", name)));
  await using provisioner = await CsiControllerProcess.start(cluster, { s3: s3Endpoint });
  const refused = provisioner.controller.deleteVolume({ volumeId, secrets: {} });
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining(
      `Secret default/keys of PersistentVolume ${name} does not exist, or access_key_id is`,
    ),
  });
  await expect(refused).rejects.toThrow(failurePattern("deletionSecretMissing"));
  expect(await bucketNames(cluster.s3)).toContain(volumeId);
  await provisioner.controller.deleteVolume({ volumeId, secrets: secretFields(rootAccount) });
  expect(await bucketNames(cluster.s3)).not.toContain(volumeId);
});

function isOfClasses(path: string): boolean {
  return path.includes("/storageclasses");
}

/** The provisioner notes there which Secret it will need. */
function noted(field: string): string {
  return `volume.kubernetes.io/provisioner-deletion-secret-${field}`;
}

/** A claim that nobody serves, of a class of its own; with the parameters by which csi-provisioner tells of it. */
async function claimOfClass(
  classParameters: Readonly<Record<string, string>>,
  named: "field" | "annotation" = "field",
) {
  const name = `t-${randomBytes(4).toString("hex")}`;
  const annotations = { "volume.beta.kubernetes.io/storage-class": name };
  const claim = { name, namespace: "default", ...(named === "annotation" && { annotations }) };
  await cluster.apply(
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name },
      provisioner: "s3.csi.scality.com",
      volumeBindingMode: "WaitForFirstConsumer",
      parameters: classParameters,
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: claim,
      spec: {
        storageClassName: named === "field" ? name : undefined,
        accessModes: ["ReadWriteMany"],
        resources: { requests: { storage: "1Gi" } },
      },
    },
  );
  return {
    name,
    parameters: { "csi.storage.k8s.io/pvc/name": name, "csi.storage.k8s.io/pvc/namespace": "default" },
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("delete", "pvc", name, "-n", "default");
      await cluster.kubectl("delete", "storageclass", name);
    },
  };
}
