/** Publishing and unpublishing while the kernel fails, or while plugin, mounter or mount-s3 die: a container sees S3, or does not start. */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type ProcessId, signalProcess } from "../../lab/process-id.ts";
import { openCluster, type PodRef, type PodWish, type Sandbox } from "../support/cluster.ts";
import { halted, processOf } from "../support/container-process.ts";
import { type Fault, Injection, untilKilled } from "../support/faults.ts";
import { listeningMounter } from "../support/listening-mounter.ts";
import { mortalPlugin, pluginProcess } from "../support/node-plugin.ts";
import {
  eventsOf,
  mountpointPodsOf,
  mountsNaming,
  objectText,
  onDiskBelow,
  podOf,
  sourcesDir,
  targetOf,
} from "../support/traces.ts";

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

let volumes = 0;
/** What it writes, it writes at once, to whatever it got. */
const writer = ["sh", "-c", "echo started > /data/started.txt; sleep 2147483647"];

/** A fault at calls that name the source or the target of the volume, where it matters which one. */
type FaultAt = Omit<Fault, "path"> & { readonly at?: "source" | "target" };

it.for<[string, FaultAt]>([
  ["the keys have no directory", { syscall: "mkdir", effect: "error=ENOSPC" }],
  ["the source has no directory", { syscall: "mkdir", effect: "error=ENOSPC", at: "source" }],
  ["the target has no directory", { syscall: "mkdir", effect: "error=ENOSPC", at: "target" }],
  ["the source cannot be mounted", { syscall: "mount", effect: "error=EIO" }],
  ["mounting the source does nothing", { syscall: "mount", effect: "retval=0" }],
  ["the request cannot be sent", { syscall: "sendmsg", effect: "error=ECONNRESET" }],
  ["the source is dead", { syscall: "fstatfs", effect: "error=ENOTCONN" }],
  ["the bind fails", { syscall: "mount", effect: "error=EIO", at: "target" }],
  ["the bind does nothing", { syscall: "mount", effect: "retval=0", at: "target" }],
])(
  "DS-6 no container starts while %s; afterwards it sees S3, and nothing got to the node's disk",
  async ([, fault]) => {
    const claim = await volume();
    const plugin = await pluginProcess(cluster, node);
    const { pod, ...published } = await publishWith(plugin, fault, { claim, command: writer });
    {
      await using injection = published.injection;
      await expect.poll(() => eventsOf(cluster, pod), long).toContain("Could not mount");
      expect(injection.log).toContain("(INJECTED)");
      expect((await podOf(cluster, pod))?.status?.containerStatuses?.[0]?.state).toHaveProperty("waiting");
      expect(await onDiskBelow(cluster, node, await targetOf(cluster, pod, claim))).toBe("");
    }
    await expectOnS3(pod, claim);
    await cluster.deletePod(pod);
  },
);

it("DS-6 a target that did not become read-only is not given to a container", async () => {
  const claim = await volume();
  // The source, its bind aside, the remount of that, the bind at the target.
  const fault = { syscall: "mount", effect: "retval=0", when: "3" };
  const plugin = await pluginProcess(cluster, node);
  const { pod, ...published } = await publishWith(plugin, fault, { claim, readOnly: true });
  {
    await using injection = published.injection;
    await expect.poll(() => eventsOf(cluster, pod), long).toContain("is not read-only");
    expect(injection.log).toContain("(INJECTED)");
  }
  await cluster.untilReady(pod);
  expect(await cluster.exec(pod, "(echo x > /data/x.txt) 2>&1; true")).toContain("Read-only file system");
  await cluster.deletePod(pod);
});

it.for<[string, FaultAt]>([
  ["before it mounts the source", { syscall: "mount", effect: "signal=KILL", when: "1", at: "source" }],
  ["after it has mounted the source", { syscall: "mount", effect: "signal=STOP", when: "1", at: "source" }],
  ["after it has sent the request", { syscall: "sendmsg", effect: "signal=STOP", when: "1" }],
  ["before it binds the target", { syscall: "mount", effect: "signal=KILL", when: "1", at: "target" }],
  ["after it has bound the target", { syscall: "mount", effect: "signal=STOP", when: "1", at: "target" }],
])("DS-6 the plugin killed %s: its successor publishes, and everything ends", async ([, fault]) => {
  await untilNothingIsMounted();
  const claim = await volume();
  const plugin = await mortalPlugin(cluster, node);
  const { pod, ...published } = await publishWith(plugin, fault, { claim, command: writer });
  await using injection = published.injection;
  await untilKilled(plugin, injection);
  expect(await onDiskBelow(cluster, node, await targetOf(cluster, pod, claim))).toBe("");

  await expectOnS3(pod, claim);
  await expectToEnd(pod, claim);
});

it.for<[string, Fault]>([
  ["before it unmounts the target", { syscall: "umount2", effect: "signal=KILL", when: "1" }],
  ["after it has unmounted the target", { syscall: "umount2", effect: "signal=STOP", when: "1" }],
  ["before it removes the target", { syscall: "rmdir", effect: "signal=KILL", when: "1" }],
])("the plugin killed %s: its successor unpublishes, and everything ends", async ([, fault]) => {
  await untilNothingIsMounted();
  const claim = await volume();
  const pod = await workload({ claim });
  await cluster.untilReady(pod);
  expect(await mountsNaming(cluster, node, claim)).not.toBe("");
  const plugin = await mortalPlugin(cluster, node);
  await using injection = await Injection.into(plugin, fault);
  await cluster.kubectl("delete", "pod", pod.name, "-n", pod.namespace, "--wait=false");
  await untilKilled(plugin, injection);

  await expectToEnd(pod, claim);
});

it.for<[string, Fault]>([
  ["the mounter is killed when the node connects", { syscall: "accept4", effect: "signal=KILL" }],
  ["the mounter is killed when it reads its request", { syscall: "recvmsg", effect: "signal=KILL" }],
  ["the mounter is killed when it becomes mount-s3", { syscall: "execve", effect: "signal=KILL" }],
  ["mount-s3 is killed when it turns to S3", { syscall: "connect", effect: "signal=KILL" }],
])("DS-6 %s: no container starts on it, the next one serves", async ([, fault]) => {
  const claim = await volume();
  const plugin = await pluginProcess(cluster, node);
  await using scope = new AsyncDisposableStack();
  let pod: PodRef;
  {
    using _connectsLater = halted(plugin);
    pod = await workload({ claim, command: writer });
    scope.use(await Injection.into(await listeningMounter(cluster, node, claim), fault));
  }
  await expectOnS3(pod, claim);
  expect(await lastExitCode(claim)).toBe(137);
  await expectToEnd(pod, claim);
});

it("DS-6 a mount-s3 that dies between its answer and the bind is not given to a container", async () => {
  const claim = await volume();
  const plugin = await pluginProcess(cluster, node);
  const fault = { syscall: "fstatfs", effect: "signal=STOP", when: "1" };
  const { pod, ...published } = await publishWith(plugin, fault, { claim, command: writer });
  {
    await using injection = published.injection;
    await expect.poll(() => injection.log, long).toContain("stopped by SIGSTOP");
  }
  {
    using _bindsLater = halted(plugin);
    const [name = ""] = await mountpointPodsOf(cluster, claim);
    const mountS3 = await processOf(cluster, { namespace: "mount-s3", name });
    if (mountS3 === undefined) throw new Error(`${name} does not run`);
    signalProcess(mountS3, "SIGKILL");
  }
  await expectOnS3(pod, claim);
  expect(await lastExitCode(claim)).toBe(137);
  await expectToEnd(pod, claim);
});

/** One of the test's own, which sees a part of the bucket of its own. */
async function volume(): Promise<string> {
  volumes += 1;
  const name = `${sandbox.name}-${volumes}`;
  return await sandbox.volume({ name, mountOptions: [`prefix=${name}/`] });
}

type Using = PodWish & { readonly claim: string };

/** Is gone after the test, so that the second try of a failed one has the node for itself. */
async function workload(using: Using): Promise<PodRef> {
  const pod = await sandbox.pod(`app-of-${using.claim}`, { node, ...using });
  onTestFinished(() => cluster.deletePod(pod));
  return pod;
}

/**
 * A Pod whose volume the plugin publishes with the fault in it. Until the mounter listens, the plugin hangs: it then has
 * nothing to wait for, and one publish runs through to the fault.
 */
async function publishWith(plugin: ProcessId, { at, ...fault }: FaultAt, using: Using) {
  const { claim } = using;
  using _callsLater = halted(plugin);
  const pod = await workload(using);
  await listeningMounter(cluster, node, claim);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const path = at && { source: `${sourcesDir}/${name}`, target: await targetOf(cluster, pod, claim) }[at];
  return { pod, injection: await Injection.into(plugin, path === undefined ? fault : { ...fault, path }) };
}

/** Of the container of the volume's Mountpoint Pod, once it has ended. */
async function lastExitCode(claim: string): Promise<number | undefined> {
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const status = async () => (await podOf(cluster, { namespace: "mount-s3", name }))?.status?.containerStatuses?.[0];
  await expect.poll(async () => (await status())?.lastState?.terminated?.exitCode, long).toBeDefined();
  return (await status())?.lastState?.terminated?.exitCode;
}

/** The first thing the container did is in the bucket, and below the mount there is nothing. */
async function expectOnS3(pod: PodRef, claim: string): Promise<void> {
  await cluster.untilReady(pod);
  await expect.poll(() => objectText(sandbox, `${claim}/started.txt`), long).toBe("started\n");
  const target = await targetOf(cluster, pod, claim);
  expect(await mountsNaming(cluster, node, target)).not.toBe("");
  expect(await onDiskBelow(cluster, node, target)).toBe("");
}

/**
 * Of the tests before. kubelet forgets a volume without unpublishing it if the plugin dies between two of its attempts to mount the volume
 * for a Pod that was deleted meanwhile; the Mountpoint Pod then serves the forgotten mount until kubelet starts again.
 */
async function untilNothingIsMounted(): Promise<void> {
  await expect.poll(() => mountsNaming(cluster, node, `${sandbox.name}-`), long).toBe("");
}

/** Pod, Mountpoint Pods, mounts and directories. */
async function expectToEnd(pod: PodRef, claim: string): Promise<void> {
  const names = await mountpointPodsOf(cluster, claim);
  await cluster.deletePod(pod);
  for (const name of names) {
    await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  }
  await expect.poll(() => mountpointPodsOf(cluster, claim), long).toEqual([]);
  for (const text of [...names, claim]) await expect.poll(() => mountsNaming(cluster, node, text), long).toBe("");
}
