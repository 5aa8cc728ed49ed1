/** A node whose directory of Pods is a mount that shares nothing: what the node plugin mounts there stays in its container. */
import { expect, it } from "vitest";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { openCluster } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { eventsOf, kubeletDir, mountsNaming, onDiskBelow, podOf, targetOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const writer = ["sh", "-c", "echo started > /data/started.txt; sleep 2147483647"];

it("DS-13 publish fails while the bind does not reach the node, says what to change, and nothing gets to its disk", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  // Its Mountpoint Pod serves the next one, too: that one needs nothing but a bind.
  await cluster.untilReady(await sandbox.pod("first", { node, claim }));
  {
    await using _private = await privatePods();
    const pod = await sandbox.pod("second", { node, claim, command: writer });
    const target = await targetOf(cluster, pod, claim);
    await expect.poll(() => eventsOf(cluster, pod), long).toMatch(failurePattern("kubeletDirectoryNotShared"));
    expect(await eventsOf(cluster, pod)).toContain("mount --make-rshared");
    expect((await podOf(cluster, pod))?.status?.containerStatuses?.[0]?.state).toHaveProperty("waiting");
    expect(await mountsNaming(cluster, node, target)).toBe("");
    expect(await onDiskBelow(cluster, node, target)).toBe("");
    await cluster.deletePod(pod);
  }
  const pod = await sandbox.pod("third", { node, claim, command: writer });
  await cluster.untilReady(pod);
  expect(await cluster.exec(pod, "cat /data/started.txt")).toBe("started\n");
});

/** With everything that is mounted in it, so that running Pods do not notice. */
async function privatePods(): Promise<AsyncDisposable> {
  const pods = `${kubeletDir}/pods`;
  await onNode(cluster, node, "mount", "--rbind", pods, pods);
  await onNode(cluster, node, "mount", "--make-private", pods);
  return { [Symbol.asyncDispose]: async () => void (await onNode(cluster, node, "umount", "-l", pods)) };
}
