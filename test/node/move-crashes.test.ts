/** Programs that are killed in the middle of a move: it goes on, or the workload stays where it was. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type ProcessId, signalProcess } from "../../lab/process-id.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { processOf } from "../support/container-process.ts";
import { type Fault, Injection, untilKilled } from "../support/faults.ts";
import { belowTheMount, identityOf, long, untilWorking } from "../support/healing.ts";
import { reconcilerProcess } from "../support/installed-reconciler.ts";
import { mountS3Of, onNode, pidOf } from "../support/mount-s3-process.ts";
import {
  errorsOf,
  finishOpenFiles,
  holders,
  mountpointPodsWith,
  phaseOf,
  requestMove,
  strictPod,
} from "../support/moving.ts";
import { mortalPlugin } from "../support/node-plugin.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const node = "worker-1";

/** Mounts in containers are replaced by threads of their own, and those of kubelet by the main thread after that. */
const deaths: readonly (readonly [string, Fault])[] = [
  ["after it has put the first new mount beneath", { syscall: "move_mount", effect: "signal=STOP", when: "1" }],
  ["before it replaces the mounts of kubelet", { syscall: "move_mount", effect: "signal=KILL", mainThread: true }],
  ["before it replaces the first mount", { syscall: "move_mount", effect: "signal=KILL", when: "1" }],
  ["before it detaches the first mount", { syscall: "umount2", effect: "signal=KILL", when: "1" }],
  [
    "after it has put the new mount beneath the first one of kubelet",
    { syscall: "move_mount", effect: "signal=STOP", when: "1", mainThread: true },
  ],
];

it.for(deaths.slice(0, scaled("points at which a node plugin is killed while it moves a mount", 2, 5)))(
  "LC-21 the node plugin killed %s: its successor completes the move, and the workload notices nothing",
  async ([, fault]) => {
    await using sandbox = await cluster.sandbox();
    const claim = await sandbox.volume();
    const pod = await strictPod(sandbox, { claim, node });
    await untilWorking(cluster, pod);
    const { name: former } = await mountS3Of(cluster, node, claim);
    const before = await identityOf(cluster, pod);
    const plugin = await mortalPlugin(cluster, node);
    {
      await using injection = await Injection.into(plugin, fault);
      await requestMove(cluster, former, "1");
      await untilKilled(plugin, injection);
    }
    await expectMoved(pod, { claim, former, bucket: sandbox.bucket });
    expect(await errorsOf(cluster, pod)).toBe("");
    expect(await identityOf(cluster, pod)).toEqual(before);
  },
);

type Moment = readonly [string, (claim: string, former: string) => Promise<boolean>];

const created: Moment = [
  "has created the successor",
  async (claim) => (await mountpointPodsWith(cluster, claim)).length === 2,
];
const listed: Moment = [
  "has listed the workloads at the successor",
  async (claim, former) => !(await holders(cluster, claim)).includes(former),
];
/** The simulation kills it at every request (test/simulation/crashes.test.ts). */
const moments = [created, listed];

it.for(moments.slice(0, scaled("points at which a reconciler is killed while it moves a mount", 1, 2)))(
  "LC-21 the reconciler killed after it %s: the next one completes the move",
  async ([, isReached]) => {
    await using sandbox = await cluster.sandbox();
    const claim = await sandbox.volume();
    const pod = await strictPod(sandbox, { claim, node });
    await untilWorking(cluster, pod);
    const { name: former } = await mountS3Of(cluster, node, claim);
    const reconciler = await reconcilerProcess(cluster);
    await requestMove(cluster, former, "1");
    await expect.poll(() => isReached(claim, former), { ...long, interval: 5 }).toBe(true);
    signalProcess(reconciler, "SIGKILL");
    await expectMoved(pod, { claim, former, bucket: sandbox.bucket });
    expect(await errorsOf(cluster, pod)).toBe("");
  },
);

/** Paths that lead to a mount-s3 that was killed fail until they are healed, and its open files are lost. */
const losses: readonly (readonly ["former" | "new", ...Moment])[] = [
  ["new", ...listed],
  ["former", ...created],
  ["former", ...listed],
];

it.for(losses.slice(0, scaled("points at which a mount-s3 is killed while its mount moves", 1, 3)))(
  "LC-21 the %s mount-s3 killed after the reconciler %s: the workload works, and one Mountpoint Pod is left",
  async ([which, , isReached]) => {
    await using sandbox = await cluster.sandbox();
    const claim = await sandbox.volume();
    const pod = await strictPod(sandbox, { claim, node });
    await untilWorking(cluster, pod);
    const former = await mountS3Of(cluster, node, claim);
    await requestMove(cluster, former.name, "1");
    await expect.poll(() => isReached(claim, former.name), { ...long, interval: 5 }).toBe(true);
    const successor = (await mountpointPodsWith(cluster, claim)).find(({ name }) => name !== former.name);
    const pid = which === "former" ? former.pid : await pidOf(cluster, node, successor?.uid ?? "none");
    await onNode(cluster, node, "kill", "-KILL", pid);
    await untilEnded(pod, claim);
  },
);

it("LC-21 the new mount-s3 killed as soon as it runs, and then the old one: the workload works, and one Mountpoint Pod is left", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const old = await mountS3Of(cluster, node, claim);
  await requestMove(cluster, old.name, "1");
  const successor = async () => (await mountpointPodsWith(cluster, claim)).find(({ name }) => name !== old.name);
  const pid = async () => await pidOf(cluster, node, (await successor())?.uid ?? "none");
  await expect.poll(pid, { ...long, interval: 5 }).not.toBe("");
  await onNode(cluster, node, "sh", "-c", `kill -KILL ${await pid()} || true`);
  await untilWorking(cluster, pod);
  await onNode(cluster, node, "sh", "-c", `kill -KILL ${old.pid} || true`);
  await untilEnded(pod, claim);
});

/** Moved or as before. */
async function untilEnded(pod: PodRef, claim: string): Promise<void> {
  await untilWorking(cluster, pod);
  await cluster.exec(pod, "touch /tmp/go");
  await expect.poll(async () => (await mountpointPodsWith(cluster, claim)).length, long).toBe(1);
  await untilWorking(cluster, pod);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
}

it("LC-21 the node plugin killed between the containers' mounts and kubelet's, and the new mount-s3 with it: every path works again", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  const plugin = await mortalPlugin(cluster, node);
  const container = await processOf(cluster, pod);
  const before = mountsIn(container);
  const isSuccessor = ({ name }: { readonly name: string }) => name !== former;
  const newPid = async () => {
    const uid = (await mountpointPodsWith(cluster, claim)).find(isSuccessor)?.uid;
    return uid === undefined ? "" : await pidOf(cluster, node, uid);
  };
  {
    const ofKubelet = { syscall: "move_mount", effect: "signal=KILL", mainThread: true } as const;
    await using injection = await Injection.into(plugin, ofKubelet);
    await requestMove(cluster, former, "1");
    await expect.poll(newPid, { ...long, interval: 5 }).not.toBe("");
    // It would start the next node plugin while the new mount-s3 still runs.
    const kubelet = cluster.lab.component(`${node}/kubelet`);
    await kubelet.kill(AbortSignal.timeout(long.timeout));
    await using _started = { [Symbol.asyncDispose]: () => kubelet.start(AbortSignal.timeout(long.timeout)) };
    await untilKilled(plugin, injection);
    expect(mountsIn(container)).not.toEqual(before);
    await onNode(cluster, node, "kill", "-KILL", await newPid());
    await expect.poll(newPid, long).toBe("");
  }
  const everyPath = "ls /data /part /ro && cat /data/before && sh -c 'echo x > /data/last'";
  const works = () => cluster.exec(pod, everyPath).then(() => "works", String);
  await expect.poll(works, long).toBe("works");
  await expectMoved(pod, { claim, former, bucket: sandbox.bucket });
});

/** The devices of the volume in a container. */
function mountsIn(container: ProcessId | undefined): readonly string[] {
  const table = readFileSync(`/proc/${container?.pid}/mountinfo`, "utf8").split("\n");
  return table.filter((line) => line.includes("mountpoint-s3")).map((line) => line.split(" ")[2] ?? "");
}

interface Moved {
  readonly claim: string;
  readonly former: string;
  readonly bucket: string;
}

async function expectMoved(pod: PodRef, { claim, former, bucket }: Moved): Promise<void> {
  await expect.poll(() => holders(cluster, claim), long).not.toContain(former);
  await untilWorking(cluster, pod);
  await finishOpenFiles(cluster, pod, bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  expect(await holders(cluster, claim)).toHaveLength(1);
  await untilWorking(cluster, pod);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
}
