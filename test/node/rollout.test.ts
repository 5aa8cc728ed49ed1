/** An upgrade replaces the mount-s3 of running Pods on both nodes, which notice nothing. */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type ReportedEvent, type Sandbox } from "../support/cluster.ts";
import { eventsIn, identityOf, long, untilWorking } from "../support/healing.ts";
import { inParallel } from "../support/in-parallel.ts";
import { installedWith } from "../support/installed-with.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { errorsOf, finishOpenFiles, holders, mountpointPodsWith, phaseOf, strictPod } from "../support/moving.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const nodes = ["worker-1", "worker-2"];
const rolling = ["mountpointPod.rollout.strategy=rolling"];
const otherImage = "rolled.example.com/driver";
/** Each of them lists, reads in sequence and at random, writes, and has a file open for reading and one for writing. */
const busyPods = scaled("Pods that use their volumes while mount-s3 is rolled, on two nodes", 4, 40);

interface Busy {
  readonly sandbox: Sandbox;
  readonly claim: string;
  readonly pod: PodRef;
  readonly former: string;
  readonly identity: unknown;
}

it("LC-21 an upgrade to another image rolls the mounts of two nodes without an error, open files included", {
  timeout: 60_000 * (8 + busyPods),
}, async () => {
  await using _image = await withImage(otherImage);
  await using sandboxes = new AsyncDisposableStack();
  const busy: Busy[] = [];
  await inParallel(
    Array.from({ length: busyPods }, (_, index) => nodes[index % nodes.length] ?? ""),
    async (node) => void busy.push(await busyOn(sandboxes.use(await cluster.sandbox()), node)),
    4,
  );

  await using _upgraded = await installedWith(cluster, [...rolling, `image.repository=${otherImage}`]);
  for (const each of busy) {
    await expect.poll(() => eventsIn(cluster, each.sandbox.name), long).toContain("VolumeMoved");
    const [successor = ""] = await holders(cluster, each.claim);
    expect(successor).not.toBe(each.former);
    expect(await imageOf(successor)).toContain(otherImage);
  }
  await inParallel(busy, async ({ sandbox, claim, pod, former, identity }) => {
    await untilWorking(cluster, pod);
    await finishOpenFiles(cluster, pod, sandbox.bucket);
    await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
    await untilWorking(cluster, pod);
    expect(await errorsOf(cluster, pod)).toBe("");
    expect(await identityOf(cluster, pod)).toEqual(identity);
    expect(await mountpointPodsWith(cluster, claim)).toHaveLength(1);
  });
  await expect.poll(controllerEvents, long).toContain("RolloutCompleted");
});

it("LC-24 a rollout of an image that does not start leaves both namespaces as they are, and goes on with one that does", async () => {
  await using sandboxes = new AsyncDisposableStack();
  const [first, second] = [
    await busyOn(sandboxes.use(await cluster.sandbox()), "worker-1"),
    await busyOn(sandboxes.use(await cluster.sandbox()), "worker-2"),
  ];
  await using _rolling = await installedWith(cluster, [...rolling, "mountpointPod.rollout.maxParallel=1"]);
  {
    await using _bad = await withMountpointImage("registry.invalid/driver:none");
    // One after the other: the first failure stops its own namespace only.
    await expect.poll(controllerEvents, long).toContain("RolloutIncomplete");
    const told = await Promise.all([first, second].map(({ sandbox }) => eventsIn(cluster, sandbox.name)));
    expect(told.filter((events) => /VolumeNotMoved: .*image cannot be pulled/.test(events))).toHaveLength(2);
    for (const { claim, former } of [first, second]) {
      await expect.poll(() => mountpointPodsWith(cluster, claim), long).toMatchObject([{ name: former }]);
    }
  }
  await using _mended = await installedWith(cluster, [...rolling, "mountpointPod.labels.mended=yes"]);
  for (const { sandbox, claim, pod, former } of [first, second]) {
    await expect.poll(() => holders(cluster, claim), long).not.toContain(former);
    await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain("VolumeMoved");
    await finishOpenFiles(cluster, pod, sandbox.bucket);
    await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
    expect(await errorsOf(cluster, pod)).toBe("");
  }
});

async function busyOn(sandbox: Sandbox, node: string): Promise<Busy> {
  const claim = await sandbox.volume();
  const pod = await strictPod(cluster, sandbox, claim, node);
  await untilWorking(cluster, pod);
  const [former = ""] = await holders(cluster, claim);
  return { sandbox, claim, pod, former, identity: await identityOf(cluster, pod) };
}

/** Another name for the image of the driver, on every node until the end of the scope: an upgrade without a registry. */
async function withImage(repository: string): Promise<AsyncDisposable> {
  const path = "jsonpath={.spec.template.spec.containers[0].image}";
  const image = await cluster.kubectl("get", "deployment/s3-csi-controller", "-n", "kube-system", "-o", path);
  const other = `${repository}:${image.split(":").at(-1)}`;
  const images = (node: string, ...args: readonly string[]) =>
    onNode(cluster, node, "ctr", "-n", "k8s.io", "images", ...args);
  for (const node of nodes) await images(node, "tag", "--force", image, other);
  return {
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await images(node, "rm", other);
    },
  };
}

/** For Mountpoint Pods that the reconciler creates within the scope. */
async function withMountpointImage(image: string): Promise<AsyncDisposable> {
  const deployment = ["deployment/s3-csi-controller", "-n", "kube-system"] as const;
  const rolledOut = () => cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
  await cluster.kubectl("set", "env", ...deployment, "-c", "s3-pod-reconciler", `MOUNTPOINT_IMAGE=${image}`);
  await rolledOut();
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("rollout", "undo", ...deployment);
      await rolledOut();
    },
  };
}

async function imageOf(mountpointPod: string): Promise<string> {
  const pod = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
  const [container] = (pod?.spec.containers ?? []) as readonly { readonly image?: string }[];
  return container?.image ?? "";
}

/** Of the controller that runs now. */
async function controllerEvents(): Promise<string> {
  const pods = await cluster.list("pods", "-n", "kube-system", "-l", "app=s3-csi-controller");
  const names = new Set(pods.map(({ metadata }) => metadata.name));
  const all = await cluster.list<ReportedEvent>("events", "-n", "kube-system");
  const events = all.filter(({ involvedObject }) => names.has(involvedObject.name));
  return events.map(({ reason, message }) => `${reason}: ${message}\n`).join("");
}
