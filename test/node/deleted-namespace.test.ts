/** A tenant's namespace is deleted with everything in it: claims, Pods, and the Secret that the buckets were made with. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { tenantAccount } from "../../lab/s3.ts";
import { secretFinalizer } from "../../src/core/names.ts";
import { bucketNames, Claims, eventsAbout, patient, type SecretUse, secretFor } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { installedWith } from "../support/installed-with.ts";
import { secretManifest } from "../support/s3-accounts.ts";

const cluster = openCluster();
const { s3 } = cluster;

it("PR-11 deleting a namespace with its claims and their Secret leaves no volume and no empty bucket; data is kept and reported", async () => {
  await using sandbox = await cluster.sandbox();
  const tenant = `${sandbox.name}-tenant`;
  const secret = { namespace: tenant, name: "credentials" };
  await cluster.kubectl("create", "namespace", tenant);
  await cluster.apply(secretManifest(secret, tenantAccount));
  const use = (kind: SecretUse) => secretFor(kind, secret.name, "${pvc.namespace}");
  await using claims = await Claims.ofClass(sandbox, { parameters: { ...use("provisioner"), ...use("node-publish") } });
  for (const name of ["empty", "full"]) await claims.claim(name, { namespace: tenant });
  const empty = await claims.bound("empty", tenant);
  const full = await claims.bound("full", tenant);
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "user", namespace: tenant },
    spec: {
      containers: [
        {
          name: "app",
          image: "docker.io/library/busybox:1.37",
          command: ["sleep", "2147483647"],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "empty" } }],
    },
  });
  await cluster.untilReady({ namespace: tenant, name: "user" });
  const bucket = full.spec.csi.volumeHandle;
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "a", Body: "a" }));

  await cluster.kubectl("delete", "namespace", tenant, "--wait=true", "--timeout=240s");
  for (const { metadata } of [empty, full]) {
    await cluster.kubectl("wait", "--for=delete", `pv/${metadata.name}`, "--timeout=240s");
  }
  const left = await bucketNames(s3);
  expect(left).not.toContain(empty.spec.csi.volumeHandle);
  expect(left).toContain(bucket);
  const reasons = async () => (await eventsAbout(cluster, full.metadata.name)).map(({ reason }) => reason);
  await expect.poll(reasons, patient).toContain("BucketKept");
});

it("PR-11 an upgrade or rollback that turns the protection off releases the Secrets of volumes that exist, and one that turns it on protects them", async () => {
  await using sandbox = await cluster.sandbox();
  const secret = { namespace: sandbox.name, name: "credentials" };
  await cluster.apply(secretManifest(secret, tenantAccount));
  const parameters = secretFor("provisioner", secret.name, sandbox.name);
  await using claims = await Claims.ofClass(sandbox, { parameters });
  await claims.volume("data");
  const finalizers = async () =>
    (await cluster.get("secret", secret.name, "-n", secret.namespace))?.metadata.finalizers ?? [];
  expect(await finalizers()).toEqual([secretFinalizer]);
  const helm = new HelmRelease(cluster);
  let withoutProtection: string;
  {
    await using _off = await installedWith(cluster, ["controller.protectSecrets=false"]);
    expect(await finalizers()).toEqual([]);
    withoutProtection = await helm.revision();
  }
  await expect.poll(finalizers, patient).toEqual([secretFinalizer]);
  await helm.rollback(withoutProtection);
  expect(await finalizers()).toEqual([]);
  await helm.asUsual();
  await expect.poll(finalizers, patient).toEqual([secretFinalizer]);
});
