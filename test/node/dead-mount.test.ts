/** What becomes of Mountpoint Pods whose mount-s3 fails, dies, or ends unasked. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { attachmentsOf, mountS3Of, onNode, pidOf } from "../support/mount-s3-process.ts";
import { messagesIn } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };

it("LC-3 the Mountpoint Pod of a workload with wrong keys goes when the workload does", async () => {
  await using sandbox = await cluster.sandbox();
  const keys = { namespace: sandbox.name, name: "wrong-keys" };
  const stringData = { access_key_id: "nobody", secret_access_key: "nothing" };
  await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: keys, stringData });
  const attributes = { authenticationSource: "secret" };
  const claim = await sandbox.volume({ attributes, csi: { nodePublishSecretRef: keys } });
  const pod = await sandbox.pod("app", { node, claim });
  await expect.poll(() => messagesIn(cluster, sandbox.name), long).toContain("Could not mount");
  const name = await mountpointPodOf(claim);
  expect(name).toMatch(/^mp-/);

  await cluster.deletePod(pod);
  await expect.poll(() => mountpointPod(name), long).toBeUndefined();
  expect(await attachmentsOf(cluster, claim)).toEqual([]);
});

it("LC-3 the Mountpoint Pod of a mount-s3 that was killed goes when the workload does", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const { name, pid } = await mountS3Of(cluster, node, claim);
  await onNode(cluster, node, "kill", "-KILL", pid);
  await expect.poll(() => restartsOf(name), long).toBeGreaterThan(0);

  await cluster.deletePod(pod);
  await expect.poll(() => mountpointPod(name), long).toBeUndefined();
  expect(await onNode(cluster, node, "sh", "-c", `grep -c ${name} /proc/1/mountinfo || true`)).toBe("0\n");
});

it("a new workload gets a working mount after mount-s3 was killed, from the same Mountpoint Pod", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const old = await sandbox.pod("old", { node, claim });
  await cluster.untilReady(old);
  const before = await mountS3Of(cluster, node, claim);
  await onNode(cluster, node, "kill", "-KILL", before.pid);

  const fresh = await sandbox.pod("fresh", { node, claim });
  await cluster.untilReady(fresh);
  await cluster.exec(fresh, "echo alive > /data/a.txt");
  expect(await mountpointPodOf(claim)).toBe(before.name);
  expect(await pidOf(cluster, node, before.uid)).not.toBe(before.pid);
  expect(await workloadsOf(claim)).toEqual((await Promise.all([old, fresh].map(uidOf))).toSorted());
});

it("LC-13 a Mountpoint Pod whose mount-s3 was killed serves again, and keeps its workload", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const { pid } = await mountS3Of(cluster, node, claim);
  await onNode(cluster, node, "kill", "-KILL", pid);
  await expect.poll(() => isServed(claim), long).toBe(true);
  expect(await workloadsOf(claim)).toEqual([await uidOf(pod)]);
});

it("LC-13 a Mountpoint Pod whose mounts were detached by hand is replaced by one that serves, and keeps its workload", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const { name } = await mountS3Of(cluster, node, claim);
  await detachEverywhere(claim, name);
  await expect.poll(() => mountpointPodOf(claim), long).not.toBe(name);
  await expect.poll(() => isServed(claim), long).toBe(true);
  expect(await workloadsOf(claim)).toEqual([await uidOf(pod)]);
  await expect.poll(() => mountpointPod(name), long).toBeUndefined();
});

/** Mounted anew, and answering. */
async function isServed(claim: string): Promise<boolean> {
  const name = await mountpointPodOf(claim);
  const source = `/var/lib/kubelet/plugins/s3.csi.scality.com/mnt/${name}`;
  const look = 'grep -qF " $1 " /proc/1/mountinfo && timeout 5 ls "$1" > /dev/null 2>&1 && echo serves || true';
  const answer = await onNode(cluster, node, "sh", "-c", look, "look", source);
  return answer === "serves\n" && (await mountpointPod(name))?.status?.phase === "Running";
}

/** In every mount namespace of the node, containers included: with its last mount mount-s3 ends, with code 0. */
async function detachEverywhere(claim: string, name: string): Promise<void> {
  const script = [
    "minor=$(grep -F \" /var/lib/kubelet/plugins/s3.csi.scality.com/mnt/$1 \" /proc/1/mountinfo | cut -d' ' -f3)",
    "for p in /proc/[0-9]*; do",
    "  for at in $(grep -s \" $minor \" $p/mountinfo | cut -d' ' -f5); do nsenter -t ${p#/proc/} -m umount -l $at; done",
    "done 2>/dev/null; true",
  ].join("\n");
  await onNode(cluster, node, "sh", "-c", script, claim, name);
}

async function mountpointPodOf(claim: string): Promise<string> {
  const [attachment] = await attachmentsOf(cluster, claim);
  return Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {})[0] ?? "";
}

async function workloadsOf(claim: string): Promise<readonly string[]> {
  const served = (await attachmentsOf(cluster, claim)).flatMap(({ spec }) =>
    Object.values(spec.mountpointS3PodAttachments),
  );
  return served
    .flat()
    .map(({ workloadPodUID }) => workloadPodUID)
    .toSorted();
}

function mountpointPod(name: string): Promise<Pod | undefined> {
  return cluster.get<Pod>("pod", name, "-n", "mount-s3");
}

async function restartsOf(name: string): Promise<number | undefined> {
  return (await mountpointPod(name))?.status?.containerStatuses?.[0]?.restartCount;
}

async function uidOf({ namespace, name }: PodRef): Promise<string> {
  return (await cluster.get<Pod>("pod", name, "-n", namespace))?.metadata.uid ?? "";
}
