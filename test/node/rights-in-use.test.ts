/** The rights that the chart grants, against those that the API server saw in use. */
import { expect, it } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import { labels, startupTaintKey } from "../../src/core/names.ts";
import type { Node } from "../../src/kube/kinds.ts";
import { Claims, eventsAbout, secretFor } from "../support/claims.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { killMountS3 } from "../support/healing.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { attachmentsOf } from "../support/mount-s3-process.ts";
import {
  type Account,
  accessObjects,
  described,
  isRefused,
  requestsOf,
  rightsIn,
  unusedRights,
} from "../support/rights.ts";

const cluster = openCluster();
const node = "worker-1";
const namespace = "kube-system";
const long = { timeout: 240_000, interval: 500 };
const controller: Account = { namespace, name: "s3-csi-driver-controller-sa" };
const plugin: Account = { namespace, name: "s3-csi-driver-sa" };

/**
 * This API server sends what there is with the watch; one before Kubernetes 1.34 may have to be asked for a list. The
 * published csi-provisioner asks for one in any case: the lab's is built with a newer client library.
 */
const listsFirst = "an API server or a client library that does not stream the first list";

/** Rights for what a test cannot bring about at will. */
const explained: Readonly<Record<string, string>> = {
  "list mountpoints3podattachments.s3.csi.scality.com": listsFirst,
  "list nodes": listsFirst,
  "list persistentvolumeclaims": listsFirst,
  "list persistentvolumes": listsFirst,
  "list pods": listsFirst,
  "list pods in mount-s3": listsFirst,
  "list secrets s3-secret in kube-system": listsFirst,
  "list storageclasses.storage.k8s.io": listsFirst,
  "update persistentvolumeclaims":
    "the provisioner takes a choice of node back when there is no room left for a volume",
  "get pods/log in mount-s3": "the node plugin asks why a mount-s3 does not reach the object store",
  "patch events": "the node plugin tells again of a volume that it still cannot heal",
};

it("SE-2 every right of controller and node plugin is used in the life of a volume, and nothing is asked for without one", async () => {
  // As the chart installs it, whatever a test before has set.
  await new HelmRelease(cluster).asUsual();
  const before = new Set([controller, plugin].flatMap((one) => requestsOf(cluster, one)).map(({ auditID }) => auditID));
  const fresh = (account: Account) => requestsOf(cluster, account).filter(({ auditID }) => !before.has(auditID));
  await startAnew();
  await using sandbox = await cluster.sandbox();
  await refusedClaim(sandbox);
  await lifeOfAVolume(sandbox);
  await claimWithItsOwnCredentials(sandbox);
  await taintedNode();

  const granted = await accessObjects(cluster);
  for (const account of [controller, plugin]) {
    const rights = rightsIn(granted, account);
    expect(rights.length).toBeGreaterThan(5);
    const unused = unusedRights(rights, fresh(account)).map(described);
    expect(unused.filter((right) => explained[right] === undefined)).toEqual([]);
    expect(fresh(account).filter(isRefused)).toEqual([]);
  }
});

/** Elections included. */
async function startAnew(): Promise<void> {
  const objects = ["daemonset/s3-csi-node", "deployment/s3-csi-controller"];
  await cluster.kubectl("scale", "deployment/s3-csi-controller", "-n", namespace, "--replicas=0");
  await cluster.kubectl(
    "wait",
    "--for=delete",
    "pod",
    "-n",
    namespace,
    "-l",
    "app=s3-csi-controller",
    "--timeout=240s",
  );
  await cluster.kubectl("delete", "lease", "-n", namespace, "s3-pod-reconciler", "s3-csi-scality-com");
  await cluster.kubectl("rollout", "restart", "-n", namespace, "daemonset/s3-csi-node");
  await cluster.kubectl("scale", "deployment/s3-csi-controller", "-n", namespace, "--replicas=1");
  for (const object of objects) await cluster.kubectl("rollout", "status", "-n", namespace, object, "--timeout=240s");
}

/** Nobody can serve it, which is said again and again. */
async function refusedClaim(sandbox: Sandbox): Promise<void> {
  await using claims = await Claims.ofClass(sandbox, { parameters: secretFor("provisioner", "nowhere", sandbox.name) });
  await claims.claim("refused");
  const counts = async () => (await eventsAbout(cluster, "refused", sandbox.name)).map(({ count }) => count ?? 0);
  await expect.poll(async () => Math.max(0, ...(await counts())), long).toBeGreaterThan(1);
}

/** With keys for mounting only, for two Pods, under which mount-s3 dies once. */
async function lifeOfAVolume(sandbox: Sandbox): Promise<void> {
  const { accessKeyId, secretAccessKey } = rootAccount;
  const keys = [`--from-literal=access_key_id=${accessKeyId}`, `--from-literal=secret_access_key=${secretAccessKey}`];
  await cluster.kubectl("create", "secret", "generic", "keys", "-n", sandbox.name, ...keys);
  await using claims = await Claims.ofClass(sandbox, {
    volumeBindingMode: "WaitForFirstConsumer",
    parameters: secretFor("node-publish", "keys", sandbox.name),
  });
  await claims.claim("data");
  const pods = [
    await sandbox.pod("first", { node, claim: "data" }),
    await sandbox.pod("second", { node, claim: "data" }),
  ];
  for (const pod of pods) await cluster.untilReady(pod);
  const volume = await claims.bound("data");
  const { name } = volume.metadata;
  await killMountS3(cluster, node, name);
  const told = async () => (await eventsAbout(cluster, "first", sandbox.name)).map(({ reason }) => reason);
  await expect.poll(told, long).toContain("VolumeHealed");
  for (const pod of pods) await cluster.deletePod(pod);
  await expect.poll(() => attachmentsOf(cluster, name), long).toEqual([]);
  const hosts = ["get", "pods", "-n", "mount-s3", "-l", `${labels.volumeName}=${name}`, "-o", "name"];
  await expect.poll(() => cluster.kubectl(...hosts), long).toBe("");
  await claims.deleteVolume("data", volume);
}

/** Its Secret is kept until the volume is deleted. */
async function claimWithItsOwnCredentials(sandbox: Sandbox): Promise<void> {
  await using claims = await Claims.ofClass(sandbox, { parameters: secretFor("provisioner", "keys", sandbox.name) });
  await claims.deleteVolume("own", await claims.volume("own"));
  const finalizers = async () => (await cluster.get("secret", "keys", "-n", sandbox.name))?.metadata.finalizers;
  await expect.poll(finalizers, long).toBeUndefined();
}

async function taintedNode(): Promise<void> {
  await cluster.kubectl("taint", "node", node, `${startupTaintKey}=:NoSchedule`);
  const taints = async () => (await cluster.get<Node>("node", node))?.spec.taints ?? [];
  await expect.poll(taints, long).toEqual([]);
}
