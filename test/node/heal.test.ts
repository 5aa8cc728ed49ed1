/** A mount-s3 that dies is replaced inside running Pods: they go on, without a restart. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { belowTheMount, busy, eventsIn, identityOf, killMountS3, long, untilWorking } from "../support/healing.ts";
import { pluginPod } from "../support/node-plugin.ts";

const cluster = openCluster();
const node = "worker-1";

it("LC-1 a Pod that lists, reads and writes goes on after its mount-s3 was killed, and nothing is lost or astray", {
  tags: ["smoke"],
}, async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await busyPod(sandbox);
  const before = await identityOf(cluster, pod);
  const countedBefore = await counted();

  await killMountS3(cluster, node, claim);
  await untilWorking(cluster, pod);

  expect(await identityOf(cluster, pod)).toEqual(before);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
  expect(await cluster.exec(pod, closedFilesThatDiffer)).toBe("");
  await expect
    .poll(() => eventsIn(cluster, sandbox.name), long)
    .toMatch(/busy VolumeHealed: mount-s3 ended \(.*exit code 137, in Mountpoint Pod mp-/);
  const { deaths, heals } = countedBefore;
  await expect.poll(async () => (await counted()).deaths, long).toBeGreaterThan(deaths);
  await expect.poll(async () => (await counted()).heals, long).toBeGreaterThan(heals);
});

/** As Prometheus would read it. */
async function counted(): Promise<{ readonly deaths: number; readonly heals: number }> {
  const { namespace, name } = await pluginPod(cluster, node);
  const text = await cluster.kubectl("get", "--raw", `/api/v1/namespaces/${namespace}/pods/${name}:9808/proxy/metrics`);
  const valueOf = (metric: string) => Number(new RegExp(`^${metric} (\\d+)$`, "m").exec(text)?.[1]);
  return { deaths: valueOf("s3_csi_mount_deaths_total"), heals: valueOf("s3_csi_mount_heal_seconds_count") };
}

const closedFilesThatDiffer = 'for n in $(cat /tmp/seen/write); do [ "$(cat /data/write-$n)" = $n ] || echo $n; done';

async function busyPod(sandbox: Sandbox): Promise<{ readonly claim: string; readonly pod: PodRef }> {
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "before", Body: "before\n" }));
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("busy", { node, claim, command: busy });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo before > /tmp/before");
  await untilWorking(cluster, pod);
  return { claim, pod };
}
