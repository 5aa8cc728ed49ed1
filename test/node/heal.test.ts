/** A mount-s3 that dies is replaced inside running Pods: they go on, without a restart. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { belowTheMount, busy, eventsIn, identityOf, killMountS3, long, untilWorking } from "../support/healing.ts";

const cluster = openCluster();
const node = "worker-1";

it("LC-1 a Pod that lists, reads and writes goes on after its mount-s3 was killed, and nothing is lost or astray", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await busyPod(sandbox);
  const before = await identityOf(cluster, pod);

  await killMountS3(cluster, node, claim);
  await untilWorking(cluster, pod);

  expect(await identityOf(cluster, pod)).toEqual(before);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
  expect(await cluster.exec(pod, closedFilesThatDiffer)).toBe("");
  await expect
    .poll(() => eventsIn(cluster, sandbox.name), long)
    .toMatch(/busy VolumeHealed: mount-s3 ended \(.*exit code 137, in Mountpoint Pod mp-/);
});

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
