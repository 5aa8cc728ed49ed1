/** A mount-s3 that hangs is the trouble of its own workloads: the node goes on, and it can be got rid of. */
import { expect, it } from "vitest";
import { IdentityService } from "../../src/csi/gen/csi.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { attachmentsOf, csiSocketOf, mountS3Of, onNode, stopped } from "../support/mount-s3-process.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };
/** More than libuv has threads: if one hung volume cost one of them, nothing would be left. */
const hungVolumes = 5;

it("MP-9 beside hung mounts others are published at normal speed, the hung ones are released, Probe tells the truth", async () => {
  await using sandbox = await cluster.sandbox();
  const claims: string[] = [];
  for (let made = 0; made < hungVolumes + 2; made += 1) claims.push(await sandbox.volume());
  const [first = "", second = "", ...hung] = claims;
  const users = await Promise.all(hung.map((claim) => sandbox.pod(`user-of-${claim}`, { node, claim })));
  await Promise.all(users.map((user) => cluster.untilReady(user)));
  const undisturbedMs = await startTime(() => sandbox.pod("before", { node, claim: first }));
  const servers = await Promise.all(hung.map((claim) => mountS3Of(cluster, node, claim)));

  {
    await using hanging = new AsyncDisposableStack();
    for (const server of servers) hanging.use(await stopped(cluster, node, server));
    // A second user of a hung volume keeps a publish of it under way.
    const late = await sandbox.pod("late", { node, claim: hung[0] ?? "" });

    const besideMs = await startTime(() => sandbox.pod("meanwhile", { node, claim: second }));
    expect(besideMs).toBeLessThan(2 * undisturbedMs + 5000);
    await cluster.exec({ namespace: sandbox.name, name: "meanwhile" }, "echo works > /data/a.txt");
    using identity = csiClient(IdentityService, csiSocketOf(cluster, node));
    expect(await identity.probe({}, { deadlineMs: 5000 })).toEqual({ ready: true });

    await Promise.all([late, ...users].map((user) => cluster.deletePod(user)));
    for (const claim of hung) await expect.poll(() => mountsNaming(`/${claim}/mount`), long).toBe("");
    for (const { name } of servers) await expect.poll(() => mountsNaming(name), long).toBe("");
  }
  // It could not end while it was stopped.
  for (const { name } of servers)
    await expect.poll(() => cluster.get("pod", name, "-n", "mount-s3"), long).toBeUndefined();
  for (const claim of hung) expect(await attachmentsOf(cluster, claim)).toEqual([]);
});

async function startTime(create: () => Promise<PodRef>): Promise<number> {
  const startedMs = performance.now();
  await cluster.untilReady(await create());
  return performance.now() - startedMs;
}

function mountsNaming(text: string): Promise<string> {
  return onNode(cluster, node, "sh", "-c", 'grep -F "$1" /proc/1/mountinfo || true', "mounts", text);
}
