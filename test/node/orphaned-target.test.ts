/** Bind mounts of Pods that are gone, which kubelet has forgotten: nobody else would unmount them. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { PodUid, PvName } from "../../src/core/names.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import { openCluster } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { kubeletDir, mountpointPodsOf, mountsNaming, podOf, sourcesDir } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it("LC-3 a target that kubelet forgot keeps no Mountpoint Pod, unless its Pod has a process", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const [empty, running] = [await forgottenTarget(name, claim), await forgottenTarget(name, claim)];
  await using process = await processOf(running.workload);

  await cluster.deletePod(pod);
  await expect.poll(() => mountsNaming(cluster, node, empty.target), long).toBe("");
  expect(await mountsNaming(cluster, node, running.target)).not.toBe("");
  expect(await podOf(cluster, { namespace: "mount-s3", name })).toBeDefined();

  await process.end();
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  expect(await mountsNaming(cluster, node, running.target)).toBe("");
});

/** A bind mount of a source in the directory of a Pod that neither kubelet nor an attachment knows. */
async function forgottenTarget(name: string, claim: string): Promise<{ workload: PodUid; target: string }> {
  const workload = randomUUID() as PodUid;
  const target = targetPath(kubeletDir, { workload, persistentVolume: claim as PvName });
  const bind = 'mkdir -p "$2" && mount --bind "$1" "$2"';
  await onNode(cluster, node, "sh", "-c", bind, "bind", `${sourcesDir}/${name}`, target);
  return { workload, target };
}

/** A process in a cgroup that is named after the Pod, as runtimes name those of containers. Not below kubelet's: kubelet ends it there. */
async function processOf(workload: PodUid): Promise<AsyncDisposable & { end(): Promise<void> }> {
  const cgroup = `/sys/fs/cgroup/pids/of-a-test/pod${workload}`;
  const start = 'mkdir -p "$1"; sleep 3600 >/dev/null 2>&1 & echo $! > "$1/cgroup.procs"; echo $!';
  const pid = (await onNode(cluster, node, "sh", "-c", start, "start", cgroup)).trim();
  const stop = 'kill -9 "$2" 2>/dev/null; until rmdir "$1"; do :; done';
  const end = async () => void (await onNode(cluster, node, "sh", "-c", stop, "stop", cgroup, pid));
  let isEnded = false;
  const once = async () => {
    if (isEnded) return;
    isEnded = true;
    await end();
  };
  return { end: once, [Symbol.asyncDispose]: once };
}
