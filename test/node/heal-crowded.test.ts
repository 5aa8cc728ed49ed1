/** A container that fills a mount namespace of its own with bind mounts of the volume: it pays for that, and nobody else does. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { killMountS3, long } from "../support/healing.ts";

const cluster = openCluster();
const node = "worker-1";

/**
 * In a user namespace of its own, which needs no right. Nine binds and a tmpfs, then 13 times a copy of everything into itself:
 * 73,728 mounts of the volume. The kernel allows 100,000 mounts in a mount namespace (fs.mount-max).
 */
const crowd = `unshare -U -r -m sh -c '
  mkdir -p /tmp/m && mount -t tmpfs none /tmp/m && cd /tmp/m &&
  for v in 1 2 3 4 5 6 7 8 9; do mkdir v$v && mount --bind /data v$v; done &&
  for d in 1 2 3 4 5 6 7 8 9 10 11 12 13; do mkdir d$d && mount --rbind . d$d; done &&
  grep -c mountpoint-s3 /proc/self/mountinfo > /proc/self/fd/1 && exec sleep 2147483647'`;

it("SE-9 more than 50,000 binds of a volume, made in a user namespace: the node plugin goes on, other Pods are healed, and an event says so", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const crowded = await sandbox.pod("crowded", { node, claim, command: ["sh", "-c", crowd] });
  const other = await sandbox.pod("other", { node, claim });
  for (const pod of [crowded, other]) await cluster.untilReady(pod);
  const said = () => cluster.kubectl("logs", "-n", crowded.namespace, crowded.name);
  await expect.poll(async () => Number(await said()), long).toBeGreaterThan(50_000);
  const before = await pluginOf();

  await killMountS3(cluster, node, claim);
  const works = () => cluster.exec(other, "echo x > /data/after && cat /data/after").catch(String);
  await expect.poll(works, long).toBe("x\n");
  const reasons = async () => {
    const about = ["--field-selector", `involvedObject.name=${crowded.name}`];
    const events = await cluster.list<{ readonly reason: string }>("events", "-n", crowded.namespace, ...about);
    return events.map(({ reason }) => reason);
  };
  await expect.poll(reasons, long).toContain("VolumeNotHealed");
  expect(await pluginOf()).toEqual(before);
});

/** What a restart of the node plugin would change. */
async function pluginOf(): Promise<unknown> {
  const selector = ["-n", "kube-system", "-l", "app=s3-csi-node", "--field-selector", `spec.nodeName=${node}`];
  const pods = await cluster.list<Pod>("pods", ...selector);
  return pods.map(({ metadata, status }) => [
    metadata.uid,
    status?.containerStatuses?.map(({ restartCount }) => restartCount),
  ]);
}
