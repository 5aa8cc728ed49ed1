/**
 * Volumes of a named store and of a service account through a rollback to 2.2.0, which knows neither, and an upgrade after it. The release and
 * the definition are those of 2.2.0; its programs are stand-ins.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { driverNamespace } from "../../lab/install-driver.ts";
import { minioEndpoint } from "../../lab/s3.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { eventsIn } from "../support/healing.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { minioStore, textIn } from "../support/lab-store.ts";
import { finishes, goesOn, live, putBlocks } from "../support/live-pod.ts";
import { MinioInLab } from "../support/minio-in-lab.ts";
import { everything } from "../support/minio-users.ts";
import { attachmentsOf } from "../support/mount-s3-process.ts";
import { OldDriver } from "../support/old-driver.ts";
import { chartOf220, definitionOf220, goBackTo220, untilPresent } from "../support/release-2.2.0.ts";
import { secretManifest } from "../support/s3-accounts.ts";
import { servedBy } from "../support/traces.ts";

const cluster = openCluster();
const helm = new HelmRelease(cluster);
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const secret = { namespace: driverNamespace, name: "keys-of-minio" };
const account = "app";

const values = [
  `s3.stores.minio.endpointUrl=${minioEndpoint}`,
  `s3.stores.minio.credentialSecret.name=${secret.name}`,
  `s3.stores.minio.sts.endpointUrl=${minioEndpoint}`,
  "podIdentity.enabled=true",
].flatMap((value) => ["--set", value]);

it("ID-1, ID-4 Pods with volumes of a named store and of a service account read and write through a rollback to 2.2.0 and the upgrade after it", async () => {
  await using minio = await MinioInLab.start(cluster);
  await using keys = await minio.newAccount();
  await using sandbox = await cluster.sandbox();
  const { bucket } = sandbox;
  const scratch = mkdtempSync(join(tmpdir(), "rollback-"));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  // Whatever happens below, this driver is there when the sandbox goes.
  await using _present = { [Symbol.asyncDispose]: () => helm.asUsual() };
  await using _secret = {
    [Symbol.asyncDispose]: async () =>
      void (await cluster.kubectl("delete", "secret", secret.name, "-n", secret.namespace)),
  };
  await cluster.apply(secretManifest(secret, keys), {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace: sandbox.name, name: account },
  });
  await minio.allow(sandbox.name, account, [everything]);
  await cluster.makeBucket(bucket, {}, minio.s3);
  await putBlocks({ cluster: minio, bucket });
  const revisionOf220 = await goBackTo220(cluster, helm, chartOf220(scratch));
  await helm.upgrade(...values);
  await untilPresent(cluster);

  const mountOptions = ["allow-delete"];
  const ofStore = await sandbox.volume({ mountOptions, attributes: { store: "minio" } });
  const withoutKeys = { store: "minio", authenticationSource: "pod" };
  const ofAccount = await sandbox.volume({ mountOptions, attributes: withoutKeys });
  const pods = [await livePod(sandbox, "of-store", ofStore), await livePod(sandbox, "of-account", ofAccount)];
  const served = async () => [await servedBy(cluster, ofStore), await servedBy(cluster, ofAccount)];
  const before = await served();
  const fields = { authenticationSource: "pod", workloadNamespace: sandbox.name, workloadServiceAccountName: account };
  expect(await attachmentsOf(cluster, ofAccount)).toMatchObject([{ spec: fields }]);

  await helm.rollback(revisionOf220);
  // It drops the fields that it does not know.
  await definitionOf220(cluster);
  {
    await using _driver = await OldDriver.start(cluster, { node, of1x: [], peer: "none" });
    expect(await tokenRequests()).toBe("");
    expect((await attachmentsOf(cluster, ofAccount))[0]?.spec).not.toHaveProperty("workloadNamespace");
    await goOn(pods);
    expect(await served()).toEqual(before);
  }
  await helm.upgrade(...values);
  await untilPresent(cluster);

  expect(await tokenRequests()).toContain("sts.amazonaws.com");
  const sharers = [await livePod(sandbox, "of-store-2", ofStore), await livePod(sandbox, "of-account-2", ofAccount)];
  await goOn([...pods, ...sharers]);
  for (const [index, lists] of (await served()).entries()) {
    expect(Object.keys(lists)).toEqual(Object.keys(before[index] ?? {}));
    expect(Object.values(lists).map((uids) => uids.length)).toEqual([2]);
  }
  // The change of its list has brought the account back.
  expect(await attachmentsOf(cluster, ofAccount)).toMatchObject([{ spec: fields }]);
  expect(await eventsIn(cluster, sandbox.name)).not.toMatch(/Could not mount|VolumeNotHealed/);

  const read = (key: string) => textIn(minioStore(minio), bucket, key);
  for (const pod of pods) await finishes(sandbox, pod, read);
  await Promise.all([...pods, ...sharers].map((pod) => cluster.deletePod(pod)));
  for (const claim of [ofStore, ofAccount]) await expect.poll(() => attachmentsOf(cluster, claim), long).toEqual([]);
});

async function livePod(sandbox: Sandbox, name: string, claim: string): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim, command: live, account });
  await cluster.untilReady(pod);
  await goesOn(cluster, pod);
  return pod;
}

async function goOn(pods: readonly PodRef[]): Promise<void> {
  for (const pod of pods) await goesOn(cluster, pod);
}

async function tokenRequests(): Promise<string> {
  return await cluster.kubectl("get", "csidriver", "s3.csi.scality.com", "-o", "jsonpath={.spec.tokenRequests}");
}
