/** Publishing and unpublishing while the kernel fails, or while plugin, mounter or mount-s3 die: a container sees S3, or does not start. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ProcessId, signalProcess } from "../../lab/process-id.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { halted, processOf } from "../support/container-process.ts";
import { type Fault, Injection } from "../support/faults.ts";
import { listeningMounter } from "../support/listening-mounter.ts";
import { onNode } from "../support/mount-s3-process.ts";
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
  // Made with the first source of a node, and never again: faults are counted from here.
  await onNode(cluster, node, "mkdir", "-p", sourcesDir);
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

let volumes = 0;
/** What it writes, it writes at once, to whatever it got. */
const writer = ["sh", "-c", "echo started > /data/started.txt; sleep 2147483647"];

it.for<[string, Fault, RegExp?]>([
  ["the keys have no directory", { syscall: "mkdir", effect: "error=ENOSPC" }, /\/credentials"/],
  ["the source has no directory", { syscall: "mkdir", effect: "error=ENOSPC", when: "2+" }, /\/mnt\/mp-\w+"/],
  ["the target has no directory", { syscall: "mkdir", effect: "error=ENOSPC", when: "3+" }, /~csi\/[^"]+\/mount"/],
  ["the source cannot be mounted", { syscall: "mount", effect: "error=EIO" }],
  ["mounting the source does nothing", { syscall: "mount", effect: "retval=0" }],
  ["the request cannot be sent", { syscall: "sendmsg", effect: "error=ECONNRESET" }],
  ["the source is dead", { syscall: "fstatfs", effect: "error=ENOTCONN" }],
  ["the bind fails", { syscall: "mount", effect: "error=EIO", when: "2+" }],
  ["the bind does nothing", { syscall: "mount", effect: "retval=0", when: "2+" }],
])(
  "DS-6 no container starts while %s; afterwards it sees S3, and nothing got to the node's disk",
  async ([, fault, where = /./]) => {
    const claim = await volume();
    const plugin = await pluginProcess(cluster, node);
    let pod: PodRef;
    {
      await using injection = await Injection.into(plugin, fault);
      pod = await sandbox.pod(`app-of-${claim}`, { node, claim, command: writer });
      await expect.poll(() => eventsOf(cluster, pod), long).toContain("Could not mount");
      const injected = injection.log.split("\n").find((line) => line.includes("(INJECTED)"));
      expect(injected).toMatch(where);
      expect((await podOf(cluster, pod))?.status?.containerStatuses?.[0]?.state).toHaveProperty("waiting");
      expect(await onDiskBelow(cluster, node, await targetOf(cluster, pod, claim))).toBe("");
    }
    await expectOnS3(pod, claim);
    await cluster.deletePod(pod);
  },
);

it("DS-6 a target that did not become read-only is not given to a container", async () => {
  const claim = await volume();
  let pod: PodRef;
  {
    // The source, its bind aside, the remount of that, the bind at the target.
    const fault = { syscall: "mount", effect: "retval=0", when: "3" };
    await using injection = await Injection.into(await pluginProcess(cluster, node), fault);
    pod = await sandbox.pod(`app-of-${claim}`, { node, claim, readOnly: true });
    await expect.poll(() => eventsOf(cluster, pod), long).toContain("is not read-only");
    expect(injection.log).toContain("(INJECTED)");
  }
  await cluster.untilReady(pod);
  expect(await cluster.exec(pod, "(echo x > /data/x.txt) 2>&1; true")).toContain("Read-only file system");
  await cluster.deletePod(pod);
});

it.for<[string, Fault]>([
  ["before it mounts the source", { syscall: "mount", effect: "signal=KILL", when: "1" }],
  ["after it has mounted the source", { syscall: "mount", effect: "signal=STOP", when: "1" }],
  ["after it has sent the request", { syscall: "sendmsg", effect: "signal=STOP", when: "1" }],
  ["before it binds the target", { syscall: "mount", effect: "signal=KILL", when: "2" }],
  ["after it has bound the target", { syscall: "mount", effect: "signal=STOP", when: "2" }],
])("DS-6 the plugin killed %s: its successor publishes, and everything ends", async ([, fault]) => {
  const claim = await volume();
  const plugin = await mortalPlugin(cluster, node);
  await using injection = await Injection.into(plugin, fault);
  const pod = await sandbox.pod(`app-of-${claim}`, { node, claim, command: writer });
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
  const claim = await volume();
  const pod = await sandbox.pod(`app-of-${claim}`, { node, claim });
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
    pod = await sandbox.pod(`app-of-${claim}`, { node, claim, command: writer });
    scope.use(await Injection.into(await listeningMounter(cluster, node, claim), fault));
  }
  await expectOnS3(pod, claim);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const ended = async () => (await podOf(cluster, { namespace: "mount-s3", name }))?.status?.containerStatuses?.[0];
  await expect.poll(async () => (await ended())?.lastState?.terminated?.exitCode, long).toBe(137);
  await expectToEnd(pod, claim);
});

it("DS-6 a mount-s3 that dies between its answer and the bind is not given to a container", async () => {
  const claim = await volume();
  const plugin = await pluginProcess(cluster, node);
  let pod: PodRef;
  {
    await using injection = await Injection.into(plugin, { syscall: "fstatfs", effect: "signal=STOP", when: "1" });
    pod = await sandbox.pod(`app-of-${claim}`, { node, claim, command: writer });
    await expect.poll(() => injection.log, long).toContain("stopped by SIGSTOP");
  }
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const mountS3 = await processOf(cluster, { namespace: "mount-s3", name });
  if (mountS3 === undefined) throw new Error(`${name} does not run`);
  signalProcess(mountS3, "SIGKILL");
  signalProcess(plugin, "SIGCONT");

  await expect.poll(() => eventsOf(cluster, pod), long).toContain("Could not mount");
  await expectOnS3(pod, claim);
  await expectToEnd(pod, claim);
});

/** One of the test's own, which sees a part of the bucket of its own. */
async function volume(): Promise<string> {
  volumes += 1;
  const name = `${sandbox.name}-${volumes}`;
  return await sandbox.volume({ name, mountOptions: [`prefix=${name}/`] });
}

/** The first thing the container did is in the bucket, and below the mount there is nothing. */
async function expectOnS3(pod: PodRef, claim: string): Promise<void> {
  await cluster.untilReady(pod);
  await expect.poll(() => objectText(sandbox, `${claim}/started.txt`), long).toBe("started\n");
  const target = await targetOf(cluster, pod, claim);
  expect(await mountsNaming(cluster, node, target)).not.toBe("");
  expect(await onDiskBelow(cluster, node, target)).toBe("");
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

/** A fault that only stops it shows the moment after the call; there it dies. */
async function untilKilled(plugin: ProcessId, injection: Injection): Promise<void> {
  await expect.poll(() => injection.log, long).toMatch(/stopped by SIGSTOP|killed by SIGKILL/);
  signalProcess(plugin, "SIGKILL");
  await expect.poll(() => injection.log, long).toContain("killed by SIGKILL");
}
