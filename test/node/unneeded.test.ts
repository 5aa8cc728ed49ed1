/** Mountpoint Pods that nobody needs any more: all of them go, whatever else lies around and whoever was away meanwhile. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ProcessId, signalProcess } from "../../lab/process-id.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { halted } from "../support/container-process.ts";
import { controllerAway } from "../support/controller-away.ts";
import { Injection } from "../support/faults.ts";
import { reconcilerProcess } from "../support/installed-reconciler.ts";
import { listeningMounter } from "../support/listening-mounter.ts";
import { mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { pluginProcess, replacePlugin, withoutPlugins } from "../support/node-plugin.ts";
import { scaled } from "../support/scale.ts";
import {
  eventsOf,
  kubeletDir,
  mountpointPodsOf,
  mountsNaming,
  objectText,
  podOf,
  sourcesDir,
} from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const many = scaled("mounts that end at the same time", 8, 50);
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it(`LC-14 ${many} Mountpoint Pods that end together are all gone, with their sources`, {
  timeout: 1_200_000,
}, async () => {
  const { pods, names } = await users("together", many);
  expect(await mountsNaming(cluster, node, sourcesDir)).not.toBe("");
  await deleteAtOnce(pods);
  await expectGone(names);
});

it("LC-14 what nobody needs any more when the node plugin comes back is cleaned at its start", async () => {
  const { pods, names } = await users("away", 3);
  const [orphaned = "", ...marked] = names;
  await using away = new AsyncDisposableStack();
  {
    // The workloads leave while nobody marks: afterwards kubelet has nothing to unpublish that would tell of their volumes.
    await using _nobodyMarks = await controllerAway(cluster);
    await deleteAtOnce(pods);
    await expect.poll(() => mountsNaming(cluster, node, `${sandbox.name}-away-`), long).toBe("");
    away.use(await withoutPlugins(cluster));
  }
  // One of them goes with its source still mounted, and nothing in the cluster names that any more.
  await cluster.kubectl("delete", "pod", orphaned, "-n", "mount-s3", "--grace-period=0", "--force");
  await expect.poll(() => marksOf(marked), long).toEqual(marked.map(() => "true"));
  for (const name of names) expect(await mountsNaming(cluster, node, name)).not.toBe("");
  await away.disposeAsync();
  await expectGone(names);
});

it("LC-15 odd entries among the sources, and a Mountpoint Pod that is not scheduled, keep nobody from being cleaned", async () => {
  const { pods, names } = await users("odd", 2);
  const unscheduled = await unscheduledMountpointPod(names[0] ?? "");
  const left = [`mp-left-by-${sandbox.name}`, unscheduled];
  const foreign = [
    `foreign-${sandbox.name}`,
    `mp-file-${sandbox.name}`,
    `mp-full-${sandbox.name}`,
    `mp odd\t${sandbox.name}`,
  ];
  const [directory = "", file = "", full = "", spaced = ""] = foreign;
  const make = 'cd "$1"; mkdir -p "$2" "$3" "$4" "$5/inside" "$6"; touch "$7"';
  await onNode(cluster, node, "sh", "-c", make, "make", sourcesDir, ...left, directory, full, spaced, file);
  await using _removed = {
    [Symbol.asyncDispose]: async () => {
      for (const name of foreign) await onNode(cluster, node, "rm", "-rf", `${sourcesDir}/${name}`);
      await cluster.kubectl("delete", "pod", unscheduled, "-n", "mount-s3", "--grace-period=0", "--force");
    },
  };

  await replacePlugin(cluster, node); // only at its start does it look through the directory
  await expect
    .poll(entries, long)
    .not.toEqual(expect.arrayContaining([expect.stringMatching(`^(${left.join("|")})$`)]));
  await deleteAtOnce(pods);
  await expectGone(names);
  // What is not ours, or not empty, is nobody's to remove.
  expect(await entries()).toEqual(expect.arrayContaining([directory, file, full]));
  expect(await onNode(cluster, node, "ls", `${sourcesDir}/${full}`)).toBe("inside\n");
  const { namespace, name } = await newcomer("after-odd");
  expect(await cluster.exec({ namespace, name }, "echo x > /data/x.txt && ls /data")).toContain("x.txt");
});

it("LC-15 a source is not unmounted while it is being mounted, although its Mountpoint Pod has been deleted", async () => {
  const witness = await users("witness", 1);
  const claim = await volume("race");
  using starting = await startingMount(claim);
  const { pod, name, mountS3 } = starting;
  // As in a drain: nobody is there any more who would replace a Mountpoint Pod.
  using _nobodyReplaces = halted(await reconcilerProcess(cluster));
  await deleteAtOnce(witness.pods);
  // The node plugin hears of them one after the other: when it has acted on the last, it has thought about the first.
  for (const each of [name, ...witness.names])
    await cluster.kubectl("delete", "pod", each, "-n", "mount-s3", "--wait=false");
  for (const each of witness.names) await expect.poll(() => mountsNaming(cluster, node, each), long).toBe("");
  expect(await mountsNaming(cluster, node, name)).not.toBe("");

  signalProcess(mountS3, "SIGCONT");
  await cluster.untilReady(pod);
  expect(await eventsOf(cluster, pod)).not.toContain("Could not mount");
  await cluster.exec(pod, "echo served > /data/a.txt");
  expect(await objectText(sandbox, "race/a.txt")).toBe("served\n");
  await deleteAtOnce([pod]);
  await expectGone([name, ...witness.names]);
});

it("LC-16 the source is unmounted although the directory of the Mountpoint Pod has vanished", async () => {
  const claim = await volume("vanished");
  const pod = await sandbox.pod("vanished", { node, claim });
  await cluster.untilReady(pod);
  const { name, uid } = await mountS3Of(cluster, node, claim);
  const vanish = 'umount -l "$1/volumes/kubernetes.io~empty-dir/comm"; rm -rf "$1"/volumes/*/comm; ls "$1"/volumes/*';
  expect(await onNode(cluster, node, "sh", "-c", vanish, "vanish", `${kubeletDir}/pods/${uid}`)).not.toContain("comm");

  await cluster.deletePod(pod);
  await expectGone([name]);
});

interface StartingMount extends Disposable {
  readonly pod: PodRef;
  /** Of its Mountpoint Pod. */
  readonly name: string;
  /** It stands still until the end of the scope. */
  readonly mountS3: ProcessId;
}

/** A workload whose source is mounted, and whose mount-s3 has not answered yet: it stops when it turns to S3. */
async function startingMount(claim: string): Promise<StartingMount> {
  using plugin = halted(await pluginProcess(cluster, node));
  const pod = await sandbox.pod(`user-of-${claim}`, { node, claim });
  const mountS3 = await listeningMounter(cluster, node, claim);
  await using injection = await Injection.into(mountS3, { syscall: "connect", effect: "signal=STOP", when: "1" });
  plugin[Symbol.dispose]();
  await expect.poll(() => injection.log, long).toContain("stopped by SIGSTOP");
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  return { pod, name, mountS3, [Symbol.dispose]: () => signalProcess(mountS3, "SIGCONT") };
}

/** Workloads with a volume each, all of which run, and the Mountpoint Pods that serve them. */
async function users(what: string, count: number): Promise<{ pods: readonly PodRef[]; names: readonly string[] }> {
  const claims: string[] = [];
  for (let made = 0; made < count; made += 1) claims.push(await volume(`${what}-${made}`));
  const pods = await Promise.all(claims.map((claim) => sandbox.pod(`user-of-${claim}`, { node, claim })));
  await Promise.all(pods.map((pod) => cluster.untilReady(pod)));
  const names = await Promise.all(claims.map((claim) => mountpointPodsOf(cluster, claim)));
  expect(names.map((served) => served.length)).toEqual(claims.map(() => 1));
  return { pods, names: names.flat() };
}

async function newcomer(what: string): Promise<PodRef> {
  const pod = await sandbox.pod(what, { node, claim: await volume(what) });
  await cluster.untilReady(pod);
  return pod;
}

function volume(what: string): Promise<string> {
  return sandbox.volume({ name: `${sandbox.name}-${what}`, mountOptions: [`prefix=${what}/`] });
}

async function deleteAtOnce(pods: readonly PodRef[]): Promise<void> {
  const names = pods.map(({ name }) => name);
  await cluster.kubectl("delete", "pod", "-n", sandbox.name, "--grace-period=0", "--force", ...names);
}

/** Mountpoint Pods, their mounts and their directories. */
async function expectGone(names: readonly string[]): Promise<void> {
  await pluginProcess(cluster, node);
  for (const name of names) {
    await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
    await expect.poll(() => mountsNaming(cluster, node, name), long).toBe("");
  }
  expect((await entries()).filter((entry) => names.includes(entry))).toEqual([]);
}

async function marksOf(names: readonly string[]): Promise<readonly (string | undefined)[]> {
  const pods = await Promise.all(names.map((name) => podOf(cluster, { namespace: "mount-s3", name })));
  return pods.map((pod) => pod?.metadata.annotations?.["s3.csi.scality.com/needs-unmount"]);
}

async function entries(): Promise<readonly string[]> {
  return (await onNode(cluster, node, "ls", sourcesDir)).trim().split("\n");
}

/** One of ours by its labels, made for nobody on a node that does not exist. */
async function unscheduledMountpointPod(like: string): Promise<string> {
  const pod = await podOf(cluster, { namespace: "mount-s3", name: like });
  const name = `mp-unscheduled-${sandbox.name}`;
  const { labels, annotations } = pod?.metadata ?? {};
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "mount-s3", name, labels, annotations },
    spec: { ...pod?.spec, nodeName: undefined, schedulingGates: [{ name: "example.com/held" }] },
  });
  return name;
}
