/** What dies with mount-s3, or is away when it does: its Pod, the node plugin, the controller, the API server. */
import { CreateBucketCommand, DeleteBucketCommand, DeleteObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { signalProcess } from "../../lab/process-id.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, podManifest, type Sandbox, type VolumeWish } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { eventsIn, identityOf, killMountS3, long, tableLengths } from "../support/healing.ts";
import { attachmentsOf, mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { mortalPlugin, pluginPod } from "../support/node-plugin.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const node = "worker-1";
const deaths = scaled("deaths in a row", 2, 10);

it("LC-1 heals with a new Mountpoint Pod where the old one was deleted by force", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const [before, { name, pid }] = [await identityOf(cluster, pod), await mountS3Of(cluster, node, claim)];
  await cluster.kubectl("delete", "pod", name, "-n", "mount-s3", "--force", "--grace-period=0");
  await onNode(cluster, node, "sh", "-c", 'while [ -d "/proc/$1" ]; do :; done', "until-ended", pid);
  await expect.poll(() => mountpointPodOf(claim), long).not.toBe(name);
  await expect.poll(() => look(pod), long).toBe("before\n");
  await cluster.exec(pod, "echo after > /data/after");
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(() => mountsNaming(name), long).toBe("");
});

it("LC-1 heals with a new Mountpoint Pod where the old one was evicted", async () => {
  await using sandbox = await cluster.sandbox();
  const attributes = { cache: "emptyDir", cacheEmptyDirSizeLimit: "8Mi" };
  const { claim, pod } = await user(sandbox, { attributes });
  const [before, { name, uid }] = [await identityOf(cluster, pod), await mountS3Of(cluster, node, claim)];
  const cache = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/cache`;
  await onNode(cluster, node, "dd", "if=/dev/zero", `of=${cache}/fill`, "bs=1M", "count=64");
  await expect.poll(() => mountpointPodOf(claim), long).not.toBe(name);
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeHealed: mount-s3 ended .*Evicted/);
});

it("LC-1 heals after mount-s3 ran out of memory, and says so", async () => {
  await using sandbox = await cluster.sandbox();
  const attributes = { mountpointContainerResourcesLimitsMemory: "128Mi" };
  const { claim, pod } = await user(sandbox, { attributes, mountOptions: ["memory-target=16000"] });
  const before = await identityOf(cluster, pod);
  await put(sandbox, "large", "x".repeat(2 ** 25));
  const readers = "for i in $(seq 40); do cat /data/large > /dev/null 2>&1 & done; wait";
  // How much lies in memory depends on how far S3 is ahead of the readers: one round may not be enough.
  const restarts = async () => {
    await cluster.exec(pod, readers);
    return (await mountpointPod(claim))?.status?.containerStatuses?.[0]?.restartCount;
  };
  await expect.poll(restarts, long).toBeGreaterThan(0);
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeHealed: mount-s3 ended \(OOMKilled/);
});

it("LC-1 heals when the node plugin was killed at the same moment", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const [before, { pid }] = [await identityOf(cluster, pod), await mountS3Of(cluster, node, claim)];
  const plugin = await pluginPid();
  await onNode(cluster, node, "kill", "-KILL", plugin, pid);
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
  // And one that it did not start, and has no connection to.
  const second = await user(sandbox, {}, "second");
  await onNode(cluster, node, "kill", "-KILL", await pluginPid());
  await killMountS3(cluster, node, second.claim);
  await expect.poll(() => look(second.pod), long).toBe("before\n");
});

it("LC-1 heals while no controller runs", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const before = await identityOf(cluster, pod);
  await using _away = await controllerAway(cluster);
  await killMountS3(cluster, node, claim);
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain("user VolumeHealed");
});

it("LC-1 heals while neither controller nor API server answer", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const { pid } = await mountS3Of(cluster, node, claim);
  const { uid } = (await identityOf(cluster, pod)) as { readonly uid: string };
  const server = cluster.lab.component("kube-apiserver");
  const signal = AbortSignal.timeout(240_000);
  await server.kill(signal);
  try {
    await onNode(cluster, node, "kill", "-KILL", pid);
    await expect.poll(() => readInside(uid), long).toBe("before\n");
  } finally {
    await server.start(signal);
  }
  await expect.poll(() => look(pod).catch(() => ""), long).toBe("before\n");
});

it("LC-1 heals death after death, with a new Mountpoint Pod where kubelet lets the old one wait, and leaves nothing behind", {
  timeout: deaths * long.timeout,
}, async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const [before, tables] = [await identityOf(cluster, pod), await tableLengths(cluster, node, [pod])];
  const first = await mountpointPodOf(claim);
  for (let death = 1; death <= deaths; death += 1) {
    await killMountS3(cluster, node, claim);
    await expect.poll(() => look(pod), long).toBe("before\n");
  }
  expect(await mountpointPodOf(claim)).not.toBe(first);
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(() => tableLengths(cluster, node, [pod]), long).toEqual(tables);
  await expect.poll(() => cluster.get("pod", first, "-n", "mount-s3"), long).toBeUndefined();
});

it("LC-1 a Pod that is deleted while its mount is dead ends cleanly, and nothing is left", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const { name } = await mountS3Of(cluster, node, claim);
  await killMountS3(cluster, node, claim);
  await cluster.deletePod(pod);
  await expect.poll(() => mountsNaming(claim), long).toBe("");
  await expect.poll(() => mountsNaming(name), long).toBe("");
  await expect.poll(() => attachmentsOf(cluster, claim), long).toEqual([]);
  await expect.poll(() => cluster.get("pod", name, "-n", "mount-s3"), long).toBeUndefined();
});

it("LC-1 Pods that are deleted while their mount is being healed end cleanly, and those that stay are healed", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const mountsOfOne = (await mountsNaming(claim)).split("\n").length;
  const leaving = await Promise.all([1, 2, 3].map((n) => sandbox.pod(`leaves-${n}`, { node, claim })));
  await Promise.all(leaving.map((each) => cluster.untilReady(each)));
  const before = await identityOf(cluster, pod);
  // They are unpublished one after the other while kubelet starts mount-s3 again and the swap follows.
  const deletions = leaving.map((each) => cluster.deletePod(each));
  await Promise.all([killMountS3(cluster, node, claim), ...deletions]);
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
  await expect.poll(async () => (await mountsNaming(claim)).split("\n").length, long).toBe(mountsOfOne);
  await cluster.deletePod(pod);
  await expect.poll(() => mountsNaming(claim), long).toBe("");
});

it("LC-1 an init container that waits for a file goes on after mount-s3 was killed under it", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const starting = { namespace: sandbox.name, name: "starting" };
  await cluster.apply(waitingForFile(starting, claim));
  const ran = async () => (await cluster.get<Pod>("pod", starting.name, "-n", starting.namespace))?.status;
  await expect.poll(ran, long).toMatchObject({ initContainerStatuses: [{ state: { running: {} } }] });
  await killMountS3(cluster, node, claim);
  await expect.poll(() => look(pod), long).toBe("before\n");
  await put(sandbox, "go", "go\n");
  await cluster.untilReady(starting);
  expect(await ran()).toMatchObject({ initContainerStatuses: [{ restartCount: 0 }] });
});

/** Its first container ends when the file `go` can be read on the volume. */
function waitingForFile(ref: PodRef, claim: string): object {
  const manifest = podManifest(ref, { node, claim }) as { spec: { containers: readonly object[] } };
  const [app] = manifest.spec.containers;
  const command = ["sh", "-c", "until cat /data/go; do sleep 0.1; done"];
  return { ...manifest, spec: { ...manifest.spec, initContainers: [{ ...app, name: "waits", command }] } };
}

it("LC-1 says why a volume cannot be healed, and heals it when that is mended", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  const before = await identityOf(cluster, pod);
  await cluster.s3.send(new DeleteObjectCommand({ Bucket: sandbox.bucket, Key: "before" }));
  await cluster.s3.send(new DeleteBucketCommand({ Bucket: sandbox.bucket }));
  await killMountS3(cluster, node, claim);
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeNotHealed: .*bucket does not exist/i);

  await cluster.s3.send(new CreateBucketCommand({ Bucket: sandbox.bucket }));
  await put(sandbox, "before", "before\n");
  await expect.poll(() => look(pod), long).toBe("before\n");
  expect(await identityOf(cluster, pod)).toEqual(before);
});

it("LC-1 a container that cannot be healed is told until it restarts, and the others work meanwhile", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  await put(sandbox, "inner/there", "");
  const holding = { namespace: sandbox.name, name: "holding" };
  await cluster.apply(withMountInside(holding, claim));
  await cluster.untilReady(holding);
  await killMountS3(cluster, node, claim);
  await expect.poll(() => look(pod), long).toBe("before\n");
  const events = () => eventsIn(cluster, sandbox.name);
  await expect
    .poll(events, long)
    .toMatch(/holding VolumeNotHealed: .*\/data: holds other mounts \(\/data\/inner\).*Restart the Pod/);
  await expect.poll(events, long).toContain("user VolumeHealed");
  expect(await look(holding)).toContain("not connected");
  expect(await events()).not.toContain("holding VolumeHealed");

  await cluster.exec(holding, "touch /tmp/end");
  await expect.poll(() => look(holding).catch(() => ""), long).toBe("before\n");
  await expect.poll(events, long).toContain("holding VolumeHealed");
});

it("LC-22 a container that could not be healed is remembered, tried again and told by the next node plugin", async () => {
  await using sandbox = await cluster.sandbox();
  const { claim, pod } = await user(sandbox);
  await put(sandbox, "inner/there", "");
  const holding = { namespace: sandbox.name, name: "holding" };
  await cluster.apply(withMountInside(holding, claim));
  await cluster.untilReady(holding);
  await killMountS3(cluster, node, claim);
  await expect.poll(() => look(pod), long).toBe("before\n");
  const events = () => eventsIn(cluster, sandbox.name);
  await expect.poll(events, long).toMatch(/holding VolumeNotHealed: .*holds other mounts/);

  signalProcess(await mortalPlugin(cluster, node), "SIGKILL");
  const plugin = await pluginPod(cluster, node);
  // Not the log of the one that was killed.
  const restarts = async () => (await cluster.get<Pod>("pod", plugin.name, "-n", plugin.namespace))?.status;
  await expect.poll(async () => (await restarts())?.containerStatuses?.[0]?.restartCount, long).toBe(1);
  const log = () => cluster.kubectl("logs", "-n", plugin.namespace, plugin.name).catch(() => "");
  await expect.poll(log, long).toContain("goes on with a heal that was owed");
  await cluster.exec(holding, "touch /tmp/end");
  await expect.poll(() => look(holding).catch(() => ""), long).toBe("before\n");
  await expect.poll(events, long).toContain("holding VolumeHealed");
});

/** A volume of its own lies on a directory of the bucket; the container ends when it is told to. */
function withMountInside(ref: PodRef, claim: string): object {
  const command = ["sh", "-c", "until [ -e /tmp/end ]; do sleep 0.1; done"];
  const { spec, ...rest } = podManifest(ref, { node, claim, command }) as {
    readonly spec: {
      readonly containers: readonly { readonly volumeMounts: readonly object[] }[];
      readonly volumes: readonly object[];
    };
  };
  const containers = spec.containers.map((one) => ({
    ...one,
    volumeMounts: [...one.volumeMounts, { name: "inner", mountPath: "/data/inner" }],
  }));
  return { ...rest, spec: { ...spec, containers, volumes: [...spec.volumes, { name: "inner", emptyDir: {} }] } };
}

interface User {
  readonly claim: string;
  readonly pod: PodRef;
}

/** A Pod that can read its volume. */
async function user(sandbox: Sandbox, wish: VolumeWish = {}, name = "user"): Promise<User> {
  await put(sandbox, "before", "before\n");
  const claim = await sandbox.volume(wish);
  const pod = await sandbox.pod(name, { node, claim });
  await cluster.untilReady(pod);
  expect(await look(pod)).toBe("before\n");
  return { claim, pod };
}

async function put({ bucket }: Sandbox, Key: string, Body: string): Promise<void> {
  await cluster.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
}

/** What it reads now, or the complaint. */
function look(pod: PodRef): Promise<string> {
  return cluster.exec(pod, "cat /data/before 2>&1 || true");
}

async function mountpointPodOf(claim: string): Promise<string> {
  const [attachment] = await attachmentsOf(cluster, claim);
  return Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {})[0] ?? "";
}

async function mountpointPod(claim: string): Promise<Pod | undefined> {
  return cluster.get<Pod>("pod", await mountpointPodOf(claim), "-n", "mount-s3");
}

async function pluginPid(): Promise<string> {
  const found = await onNode(
    cluster,
    node,
    "sh",
    "-c",
    "grep -ls -e '[-]-register' /proc/[0-9]*/cmdline | cut -d/ -f3",
  );
  return found.trim();
}

/** Through the container's mounts, without asking the API server. */
function readInside(workload: string): Promise<string> {
  const script = [
    'for p in $(grep -ls "$1" /proc/[0-9]*/cgroup | cut -d/ -f3); do',
    '  [ "$(cat /proc/$p/comm)" = sleep ] && nsenter -t $p -m -- cat /data/before 2>&1',
    "done; true",
  ].join("\n");
  return onNode(cluster, node, "sh", "-c", script, "read-inside", workload);
}

function mountsNaming(text: string): Promise<string> {
  return onNode(cluster, node, "sh", "-c", 'grep -F "$1" /proc/1/mountinfo || true', "mounts", text);
}
