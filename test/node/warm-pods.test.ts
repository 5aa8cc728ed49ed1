/** Mountpoint Pods that wait for a volume: the first S3 Pod of a node gets one, and everything after that is as with any other. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { belowTheMount, busy, eventsIn, identityOf, killMountS3, long, untilWorking } from "../support/healing.ts";
import { installedWith } from "../support/installed-with.ts";
import { mountpointPodsOf, mountsNaming, sourcesDir } from "../support/traces.ts";
import { untilWarmOn, warmOn, workingSetOf } from "../support/warm-node.ts";

const cluster = openCluster();
const node = "worker-1";
let installed: AsyncDisposable;

beforeAll(async () => {
  installed = await installedWith(cluster, ["mountpointPod.warm.perNode=1"]);
});

/** The next installation has the default value again: none wait. */
afterAll(async () => {
  await installed[Symbol.asyncDispose]();
  await vi.waitFor(async () => {
    const left = await cluster.kubectl("get", "pods", "-n", "mount-s3", "-o", "name");
    if (left.includes("mp-warm-")) throw new Error(`still there: ${left}`);
  }, long);
});

it("WM-1 one waits on each node, in less than 20 MB, and holds no keys", async () => {
  for (const name of ["worker-1", "worker-2"]) {
    const warm = await untilWarmOn(cluster, name);
    expect(await workingSetOf(cluster, name, warm)).toBeLessThan(20_000_000);
    const files = await cluster.kubectl("exec", "-n", "mount-s3", warm.name, "--", "ls", "-A", "/comm");
    expect(files).toBe("mount.sock\n");
  }
});

it("WM-1 the first S3 Pod gets it, another takes its place, its data survives kill -9, and nothing is left of it at the end", async () => {
  await using sandbox = await cluster.sandbox();
  const warm = await untilWarmOn(cluster, node);
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "before", Body: "before\n" }));
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("busy", { node, claim, command: busy });
  await cluster.untilReady(pod);
  expect(await mountpointPodsOf(cluster, claim)).toEqual([warm.name]);
  await cluster.exec(pod, "echo before > /tmp/before");
  await untilWorking(cluster, pod);
  const next = await untilWarmOn(cluster, node, warm.name);
  const used = await cluster.get<Pod>("pod", warm.name, "-n", "mount-s3");
  expect(used?.metadata.uid).toBe(warm.uid);
  expect(used?.metadata.labels).toMatchObject({ "s3.csi.scality.com/volume-name": claim });

  const before = await identityOf(cluster, pod);
  await killMountS3(cluster, node, claim);
  await untilWorking(cluster, pod);
  expect(await identityOf(cluster, pod)).toEqual(before);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain(`in Mountpoint Pod ${warm.name}`);

  await cluster.deletePod(pod);
  await expect.poll(() => cluster.get<Pod>("pod", warm.name, "-n", "mount-s3"), long).toBeUndefined();
  expect(await mountpointPodsOf(cluster, claim)).toEqual([]);
  expect(await mountsNaming(cluster, node, `${sourcesDir}/${warm.name}`)).toBe("");
  expect((await warmOn(cluster, node)).map(({ name }) => name)).toEqual([next.name]);
});

it("WM-2 a volume with a cache of its own gets its own, beside the one that waits", async () => {
  await using sandbox = await cluster.sandbox();
  const warm = await untilWarmOn(cluster, node);
  const claim = await sandbox.volume({ attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "64Mi" } });
  const pod = await sandbox.pod("cached", { node, claim });
  await cluster.untilReady(pod);
  const [own = ""] = await mountpointPodsOf(cluster, claim);
  expect(own).toMatch(/^mp-[0-9a-f]{56}$/);
  expect((await warmOn(cluster, node)).map(({ name }) => name)).toEqual([warm.name]);
  await cluster.deletePod(pod);
});
