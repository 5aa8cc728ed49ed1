/**
 * A bad image pauses a rollout, and an upgrade to a good one replaces the mount-s3 of running Pods on both nodes. The Pods notice neither.
 * One test, because each change of the settings replaces the controller, and each upgrade the node plugins, too.
 */
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, type ReportedEvent, type Sandbox } from "../support/cluster.ts";
import { eventsIn, identityOf, long, untilWorking } from "../support/healing.ts";
import { inParallel } from "../support/in-parallel.ts";
import { installedWith } from "../support/installed-with.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { missingImage, withMountpointImage } from "../support/mountpoint-image.ts";
import { errorsOf, finishOpenFiles, holders, mountpointPodsWith, phaseOf, strictPod } from "../support/moving.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const nodes = ["worker-1", "worker-2"];
const rolling = ["mountpointPod.rollout.strategy=rolling"];
const otherImage = "rolled.example.com/driver";
/**
 * Each of them lists, reads in sequence and at random, also below a subPath and through a read-only mount, writes, and has a file open for
 * reading and one for writing: 40 are 200 readers and writers.
 */
const busyPods = scaled("Pods that use their volumes while mount-s3 is rolled, on two nodes", 4, 40);
const pauseSeconds = scaled("tenths of a second between two rounds of each of these Pods", 1, 20) / 10;
const maxParallel = 2;

interface Busy {
  readonly sandbox: Sandbox;
  readonly claim: string;
  readonly pod: PodRef;
  readonly former: string;
  readonly identity: unknown;
}

it("LC-21, LC-24 a bad image pauses a rollout and moves nothing; an upgrade to another one rolls the mounts of two nodes without an error, open files included", {
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
  await pausedByBadImage(busy);

  await using _upgraded = await installedWith(cluster, [...rolling, `image.repository=${otherImage}`]);
  for (const each of busy) {
    await expect.poll(() => eventsIn(cluster, each.sandbox.name), long).toContain("VolumeMoved");
    const [successor = ""] = await holders(cluster, each.claim);
    expect(successor).not.toBe(each.former);
    expect(await imageOf(successor)).toContain(otherImage);
  }
  await inParallel(busy, (each) => endsWithoutError(each), 4);
  await expect.poll(controllerEvents, long).toContain("RolloutCompleted");
});

/** Each volume is in a namespace of its own: failures in more than one pause the rollout of the cluster. */
async function pausedByBadImage(busy: readonly Busy[]): Promise<void> {
  const rollout = ["MOUNTPOINT_ROLLOUT_STRATEGY=rolling", `MOUNTPOINT_ROLLOUT_MAX_PARALLEL=${maxParallel}`];
  await using _bad = await withMountpointImage(cluster, missingImage, ...rollout);
  await expect.poll(controllerEvents, long).toContain("RolloutPaused");
  const told = await Promise.all(busy.map(({ sandbox }) => eventsIn(cluster, sandbox.name)));
  const failed = told.filter((events) => /VolumeNotMoved: .*image cannot be pulled/.test(events));
  // The first failure stops its own namespace only, and another move begins.
  expect(failed.length).toBeGreaterThanOrEqual(maxParallel);
  expect(failed.length).toBeLessThanOrEqual(maxParallel + 1);
  for (const { claim, former } of busy) expect(await holders(cluster, claim)).toEqual([former]);
}

async function endsWithoutError({ sandbox, claim, pod, former, identity }: Busy): Promise<void> {
  await untilWorking(cluster, pod);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
  expect(await identityOf(cluster, pod)).toEqual(identity);
  expect(await mountpointPodsWith(cluster, claim)).toHaveLength(1);
}

async function busyOn(sandbox: Sandbox, node: string): Promise<Busy> {
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node, pauseSeconds });
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
