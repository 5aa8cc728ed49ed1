/** A mount-s3 that hangs is the trouble of its own workloads: the node goes on, and it can be got rid of. */
import { expect, it } from "vitest";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import { IdentityService, NodeService } from "../../src/csi/gen/csi.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { attachmentsOf, csiSocketOf, mountS3Of, onNode, stopped } from "../support/mount-s3-process.ts";
import { publishRequestOf } from "../support/publish-request.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };
/** More than libuv has threads: if one hung volume cost one of them, nothing would be left. */
const hungVolumes = 5;

it("MP-9 beside hung mounts others are published, the hung ones are released, Probe tells the truth", async () => {
  await using sandbox = await cluster.sandbox();
  const claims: string[] = [];
  for (let made = 0; made < hungVolumes + 1; made += 1) claims.push(await sandbox.volume());
  const [other = "", ...hung] = claims;
  const users = await Promise.all(hung.map((claim) => sandbox.pod(`user-of-${claim}`, { node, claim })));
  await Promise.all(users.map((user) => cluster.untilReady(user)));
  const servers = await Promise.all(hung.map((claim) => mountS3Of(cluster, node, claim)));

  {
    await using hanging = new AsyncDisposableStack();
    for (const server of servers) hanging.use(await stopped(cluster, node, server));
    for (const [index, user] of users.slice(0, 1).entries()) await expectToReportHang(sandbox, user, hung[index]);
    // A second user of a hung volume keeps a publish of it under way.
    const late = await sandbox.pod("late", { node, claim: hung[0] ?? "" });

    // For a volume of its own, and one more on the mount that it has then.
    await expectToWork(await sandbox.pod("meanwhile", { node, claim: other }));
    await expectToWork(await sandbox.pod("then", { node, claim: other }));
    using identity = csiClient(IdentityService, csiSocketOf(cluster, node));
    expect(await identity.probe({}, { deadlineMs: 60_000 })).toEqual({ ready: true });

    await Promise.all([late, ...users].map((user) => cluster.deletePod(user)));
    for (const claim of hung) await expect.poll(() => mountsNaming(`/${claim}/mount`), long).toBe("");
    for (const { name } of servers) await expect.poll(() => mountsNaming(name), long).toBe("");
  }
  // It could not end while it was stopped.
  for (const { name } of servers)
    await expect.poll(() => cluster.get("pod", name, "-n", "mount-s3"), long).toBeUndefined();
  for (const claim of hung) expect(await attachmentsOf(cluster, claim)).toEqual([]);
});

/** kubelet's repeated call for a running workload. */
async function expectToReportHang(sandbox: Sandbox, user: PodRef, claim = ""): Promise<void> {
  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  const repeated = await publishRequestOf(sandbox, user, claim);
  const call = kubelet.nodePublishVolume(repeated, { deadlineMs: 60_000 });
  await expect(call).rejects.toThrow(failurePattern("mountS3Hangs"));
}

async function expectToWork(pod: PodRef): Promise<void> {
  await cluster.untilReady(pod);
  expect(await cluster.exec(pod, "echo works > /data/$HOSTNAME.txt; cat /data/$HOSTNAME.txt")).toBe("works\n");
}

function mountsNaming(text: string): Promise<string> {
  return onNode(cluster, node, "sh", "-c", 'grep -F "$1" /proc/1/mountinfo || true', "mounts", text);
}
