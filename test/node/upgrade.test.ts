/**
 * From 2.2.0 to this driver with `helm upgrade`, back with `helm rollback`, and forward again, under Pods that read and write
 * all the time. The release, the Mountpoint Pods and the mounts are those that 2.2.0 leaves; its own programs are stand-ins. This driver
 * has Mountpoint Pods that wait for volumes: the rollback leaves none, and the one in use serves on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { version } from "../../src/bin/version.ts";
import { labels, type PodUid } from "../../src/core/names.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import type { KubeObject, Pod } from "../../src/kube/kinds.ts";
import { commDir } from "../../src/node/domain/target-path.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { eventsIn } from "../support/healing.ts";
import { HelmRelease } from "../support/helm-release.ts";
import { finishes, goesOn, live, putBlocks } from "../support/live-pod.ts";
import { attachmentsOf, csiSocketOf, onNode } from "../support/mount-s3-process.ts";
import { mounterOf2x, OldDriver, oldVersion } from "../support/old-driver.ts";
import { publishRequestOf } from "../support/publish-request.ts";
import { chartOf220, goBackTo220, untilPresent } from "../support/release-2.2.0.ts";
import { kubeletDir, mountsNaming, podOf, servedBy, targetOf } from "../support/traces.ts";
import { credentialsOf, writeOnNode } from "../support/v1-mount.ts";
import { untilWarmOn } from "../support/warm-node.ts";
import { compileFixture } from "../wire/fixture-programs.ts";

const cluster = openCluster();
const helm = new HelmRelease(cluster);
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const pluginDir = `${kubeletDir}/plugins/s3.csi.scality.com`;

it("CH-6, LC-12, WM-2 Pods on mounts of 1.x and 2.2.0 read and write through an upgrade, a rollback and an upgrade; then everything ends", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const claimOf1x = await sandbox.volume({ mountOptions: ["allow-delete"] });
  await putBlocks(sandbox);
  const scratch = mkdtempSync(join(tmpdir(), "upgrade-"));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  const old = { node, of1x: [claimOf1x], peer: compileFixture("peer", scratch) };
  // Whatever happens below, this driver is there when the sandbox goes.
  await using _present = { [Symbol.asyncDispose]: () => helm.asUsual() };
  const revisionOf220 = await goBackTo220(cluster, helm, chartOf220(scratch));
  await using _mounter = await mounterOf2x(cluster, old.peer);

  await using driverOf220 = await OldDriver.start(cluster, old);
  const first = await livePod(sandbox, "first", claim);
  const sharer = await livePod(sandbox, "sharer", claim);
  const of1x = await livePod(sandbox, "of-1x", claimOf1x);
  const attachments = await uidsOf(attachmentsOf(cluster, claim));
  const [mountpointPod = ""] = Object.keys(await servedBy(cluster, claim));
  expect(Object.values(await servedBy(cluster, claim)).map((uids) => uids.length)).toEqual([2]);
  const mounts = async () => [
    await mountOf(first, claim),
    await mountOf(sharer, claim),
    await mountOf(of1x, claimOf1x),
  ];
  const mountsBefore = await mounts();
  const ofMountS3 = expect.stringContaining(" - fuse mountpoint-s3 ");
  expect(mountsBefore).toEqual([ofMountS3, ofMountS3, ofMountS3]);
  const leftover = await leaveKeysBehind(first, claim, mountpointPod);

  await driverOf220.stop();
  await helm.upgrade("--set", "mountpointPod.warm.perNode=1");
  await untilPresent(cluster);

  const warm = await untilWarmOn(cluster, node);
  const newcomer = await livePod(sandbox, "newcomer", claim);
  await goOn(first, sharer, of1x);
  expect(await mounts()).toEqual(mountsBefore);
  expect(await uidsOf(attachmentsOf(cluster, claim))).toEqual(attachments);
  expect(await attachmentsOf(cluster, claimOf1x)).toEqual([]);
  const { [mountpointPod]: sharers, ...others } = await servedBy(cluster, claim);
  expect(sharers).toHaveLength(2);
  expect(others).toEqual({ [warm.name]: [await uidOf(newcomer)] });
  expect(await driverOf(mountpointPod)).toEqual({ version: oldVersion, restarts: [0] });
  expect(await driverOf(Object.keys(others).join())).toEqual({ version, restarts: [0] });
  await keysAreRenewed(sandbox, first, claim, leftover);

  await helm.rollback(revisionOf220);
  {
    await using _driver = await OldDriver.start(cluster, old);
    // The garbage collector deletes them with their owner, which is an object of the release.
    await expect.poll(() => cluster.list("pods", "-n", "mount-s3", "-l", `${labels.warm}=waiting`), long).toEqual([]);
    expect(await driverOf(warm.name)).toEqual({ version, restarts: [0] });
    await goOn(first, sharer, of1x, newcomer);
  }
  await helm.upgrade();
  await untilPresent(cluster);

  const last = await livePod(sandbox, "last", claim);
  const everyone = [first, sharer, of1x, newcomer, last];
  await goOn(...everyone);
  expect(await mounts()).toEqual(mountsBefore);
  expect((await servedBy(cluster, claim))[mountpointPod]).toHaveLength(2);
  expect(await eventsIn(cluster, sandbox.name)).not.toMatch(/Could not mount|Volume(Not)?Healed/);

  const hosts = Object.keys(await servedBy(cluster, claim));
  for (const pod of everyone) await finishes(sandbox, pod);
  await Promise.all(everyone.map((pod) => cluster.deletePod(pod)));
  await expect.poll(() => attachmentsOf(cluster, claim), long).toEqual([]);
  const pods = ["get", "pods", "-n", "mount-s3", "-l", `${labels.volumeName}=${claim}`, "-o", "name"];
  await expect.poll(() => cluster.kubectl(...pods), long).toBe("");
  await expect.poll(() => mountsNaming(cluster, node, sandbox.name), long).toBe("");
  const sources = () => onNode(cluster, node, "ls", `${pluginDir}/mnt`);
  for (const host of hosts) await expect.poll(sources, long).not.toContain(host);
  await expect.poll(() => onNode(cluster, node, "ls", pluginDir), long).not.toContain("s3-csi-c");
});

/** Returns when it has begun to work. */
async function livePod(sandbox: Sandbox, name: string, claim: string): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim, command: live });
  await cluster.untilReady(pod);
  await goesOn(cluster, pod);
  return pod;
}

async function goOn(...pods: readonly PodRef[]): Promise<void> {
  for (const pod of pods) await goesOn(cluster, pod);
}

/** Its line in the node's table, with the mount's id: one that was made anew would show. */
async function mountOf(pod: PodRef, claim: string): Promise<string> {
  return await mountsNaming(cluster, node, ` ${await targetOf(cluster, pod, claim)} `);
}

async function uidOf(pod: PodRef): Promise<string | undefined> {
  return (await podOf(cluster, pod))?.metadata.uid;
}

async function uidsOf(objects: Promise<readonly KubeObject[]>): Promise<readonly string[]> {
  return (await objects).map(({ metadata }) => metadata.uid);
}

async function driverOf(mountpointPod: string): Promise<object> {
  const pod = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
  return {
    version: pod?.metadata.labels?.[labels.driverVersion],
    restarts: pod?.status?.containerStatuses?.map(({ restartCount }) => restartCount),
  };
}

interface Leftover {
  /** On the host, of a volume that 2.x mounted: nobody reads it. */
  readonly onHost: string;
  /** In the Mountpoint Pod, of a sharer that came first once: nobody knows who reads it, so it has to be renewed. */
  readonly inPod: string;
  readonly profile: string;
}

async function leaveKeysBehind(pod: PodRef, claim: string, mountpointPod: string): Promise<Leftover> {
  const host = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
  const profile = `${crypto.randomUUID()}-${claim}-s3-csi`;
  const credentials = `${commDir(kubeletDir, host?.metadata.uid as PodUid)}/credentials`;
  const leftover = {
    onHost: `${pluginDir}/${await uidOf(pod)}-${claim}-s3-csi-credentials`,
    inPod: `${credentials}/${profile}-credentials`,
    profile,
  };
  await writeOnNode(cluster, node, leftover.onHost, credentialsOf("of yesterday"));
  await writeOnNode(cluster, node, leftover.inPod, "of yesterday");
  return leftover;
}

async function keysAreRenewed(sandbox: Sandbox, pod: PodRef, claim: string, leftover: Leftover): Promise<void> {
  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  await kubelet.nodePublishVolume(await publishRequestOf(sandbox, pod, claim));
  expect(await onNode(cluster, node, "cat", leftover.inPod)).toBe(credentialsOf(leftover.profile));
  await expect
    .poll(() => onNode(cluster, node, "ls", pluginDir), long)
    .not.toContain(leftover.onHost.split("/").at(-1));
}
