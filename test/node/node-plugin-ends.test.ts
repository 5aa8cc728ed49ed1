/** The node plugin and kubelet end amid their work: nothing that runs notices, and what was begun is finished. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { signalProcess } from "../../lab/process-id.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { mountS3Of } from "../support/mount-s3-process.ts";
import { mortalPlugin, pluginPod } from "../support/node-plugin.ts";
import { eventsOf, mountsNaming, objectText, podOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("LC-17 a node plugin that gets SIGTERM while it publishes ends by itself with code 0, in seconds; no publish fails in it, and every Pod starts", async () => {
  const process = await mortalPlugin(cluster, node);
  const plugin = await pluginPod(cluster, node);
  const claims = await Promise.all([1, 2, 3, 4].map((index) => volume(`sigterm-${index}`)));
  const pods = await Promise.all(claims.map((claim) => sandbox.pod(`user-of-${claim}`, { node, claim })));
  // The first of them is published while the others are under way.
  await expect.poll(async () => (await Promise.all(claims.map(targets))).join(""), long).not.toBe("");
  const askedAt = Date.now();
  signalProcess(process, "SIGTERM");

  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  for (const pod of pods) await cluster.exec(pod, "echo works > /data/file.txt");
  for (const index of [1, 2, 3, 4]) expect(await objectText(sandbox, `sigterm-${index}/file.txt`)).toBe("works\n");
  const end = async () => (await podOf(cluster, plugin))?.status?.containerStatuses?.[0]?.lastState?.terminated;
  // kubelet's own SIGKILL, which comes after the grace period, would be 137.
  await expect.poll(end, long).toMatchObject({ exitCode: 0, reason: "Completed" });
  // Below 5 s by its own limits; the machine may be busy.
  expect(Date.parse((await end())?.finishedAt ?? "") - askedAt).toBeLessThan(25_000);
  // kubelet's calls may be called off, or find nobody, and are repeated: none came to a bad end in the driver.
  for (const pod of pods) expect(await eventsOf(cluster, pod)).not.toContain("Could not mount");
});

it("LC-17 a rollout while Pods are published: every one of them starts", async () => {
  const claims = await Promise.all([1, 2, 3, 4].map((index) => volume(`rollout-${index}`)));
  const rollout = cluster.kubectl("rollout", "restart", "-n", "kube-system", "daemonset/s3-csi-node");
  const pods = await Promise.all(claims.map((claim) => sandbox.pod(`user-of-${claim}`, { node, claim })));
  await rollout;
  await cluster.kubectl("rollout", "status", "-n", "kube-system", "daemonset/s3-csi-node", "--timeout=240s");
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  for (const pod of pods) expect(await cluster.exec(pod, "echo works > /data/file.txt; ls /data")).toBe("file.txt\n");
});

it("kubelet restarted under live mounts: they stay as they are, can be joined, and are released", async () => {
  const claim = await volume("kubelet");
  const pod = await sandbox.pod("before", { node, claim });
  await cluster.untilReady(pod);
  const { name } = await mountS3Of(cluster, node, claim);
  const before = await targets(claim);
  expect(before).not.toBe("");

  await cluster.lab.component(`${node}/kubelet`).kill(AbortSignal.timeout(60_000));
  await cluster.lab.component(`${node}/kubelet`).start(AbortSignal.timeout(60_000));
  const newcomer = await sandbox.pod("after", { node, claim });
  await cluster.untilReady(newcomer);

  expect(await cluster.exec(pod, "echo before > /data/before.txt; cat /data/before.txt")).toBe("before\n");
  expect(await cluster.exec(newcomer, "cat /data/before.txt")).toBe("before\n");
  expect((await targets(claim)).split("\n")).toEqual(expect.arrayContaining(before.trim().split("\n")));
  expect((await mountS3Of(cluster, node, claim)).name).toBe(name);
  expect(await restartsOf(pod)).toBe(0);
  expect(await restartsOf({ namespace: "mount-s3", name })).toBe(0);
  await Promise.all([pod, newcomer].map((one) => cluster.deletePod(one)));
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  await expect.poll(() => targets(claim), long).toBe("");
});

function volume(what: string): Promise<string> {
  return sandbox.volume({ name: `${sandbox.name}-${what}`, mountOptions: [`prefix=${what}/`] });
}

/** Mount ids included: a remount would show. */
function targets(claim: string): Promise<string> {
  return mountsNaming(cluster, node, `/${claim}/mount `);
}

async function restartsOf({ namespace, name }: PodRef): Promise<number | undefined> {
  return (await cluster.get<Pod>("pod", name, "-n", namespace))?.status?.containerStatuses?.[0]?.restartCount;
}
