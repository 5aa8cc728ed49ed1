/** Running workloads move to another Mountpoint Pod, and notice nothing. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { annotations } from "../../src/core/names.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";
import { processOf } from "../support/container-process.ts";
import { controllerAway } from "../support/controller-away.ts";
import { withFullNode } from "../support/full-node.ts";
import { belowTheMount, eventsIn, identityOf, long, untilWorking } from "../support/healing.ts";
import { KubectlPlugin } from "../support/kubectl-plugin.ts";
import { mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { missingImage, withMountpointImage } from "../support/mountpoint-image.ts";
import {
  errorsOf,
  finishOpenFiles,
  holders,
  mountpointPodsWith,
  phaseOf,
  requestMove,
  strictPod,
} from "../support/moving.ts";

const cluster = openCluster();
const node = "worker-1";

it("LC-21 a Pod that lists, reads and writes moves to another Mountpoint Pod without an error, open files included", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  const before = await identityOf(cluster, pod);

  await requestMove(cluster, former, "1");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain("VolumeMoved");
  const [successor] = await holders(cluster, claim);
  expect(successor).not.toBe(former);
  await untilWorking(cluster, pod);
  expect(await mountedIn(pod)).toEqual(await deviceOf(successor ?? ""));
  // Its files are open: it still serves them.
  expect(await phaseOf(cluster, former)).toBe("Running");
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");

  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
  expect(await identityOf(cluster, pod)).toEqual(before);
  expect(await belowTheMount(cluster, node, pod)).toBe("");
  expect(await onNode(cluster, node, "sh", "-c", `grep -c ${former} /proc/1/mountinfo || true`)).toBe("0\n");

  // A request on the volume moves whatever was created before it, and only that.
  await cluster.kubectl("annotate", "pv", claim, `${annotations.move}=2`);
  await expect.poll(() => holders(cluster, claim), long).not.toContain(successor);
  await expect.poll(() => phaseOf(cluster, successor ?? ""), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");

  async function mountedIn(of: typeof pod): Promise<readonly string[]> {
    const table = await cluster.exec(of, "grep mountpoint-s3 /proc/1/mountinfo");
    return [
      ...new Set(
        table
          .trim()
          .split("\n")
          .map((line) => line.split(" ")[2] ?? ""),
      ),
    ];
  }
});

it.for<[string, RegExp, (sandbox: Sandbox) => Promise<AsyncDisposable>]>([
  ["has a bad image", /image cannot be pulled/, () => withMountpointImage(cluster, missingImage)],
  ["finds no room on its node", /has no place on the node: Insufficient cpu/, (sandbox) => withFullNode(sandbox, node)],
])("LC-24 a successor that %s changes nothing, and the next request is tried", async ([, cause, obstacle]) => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former, pid } = await mountS3Of(cluster, node, claim);
  {
    await using _obstacle = await obstacle(sandbox);
    await requestMove(cluster, former, "1");
    const told = new RegExp(`VolumeNotMoved: .*works as before: .*${cause.source}`);
    await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(told);
    await expect.poll(() => mountpointPodsWith(cluster, claim), long).toMatchObject([{ name: former }]);
  }
  expect(await holders(cluster, claim)).toEqual([former]);
  expect((await mountS3Of(cluster, node, claim)).pid).toBe(pid);

  await requestMove(cluster, former, "2");
  await expectMoved(sandbox, pod, { claim, former });
});

it("LC-24 while no controller runs the mount serves on, and the doctor says why nothing moves; the next one moves it", async () => {
  await using sandbox = await cluster.sandbox();
  using plugin = await KubectlPlugin.build(cluster);
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former, pid } = await mountS3Of(cluster, node, claim);
  {
    await using _away = await controllerAway(cluster);
    await requestMove(cluster, former, "1");
    expect(plugin.attempt(["s3", "doctor", "-o", "json"]).out).toContain("controller-scaled-down");
    await untilWorking(cluster, pod);
    expect(await mountpointPodsWith(cluster, claim)).toMatchObject([{ name: former }]);
    expect((await mountS3Of(cluster, node, claim)).pid).toBe(pid);
  }
  await expectMoved(sandbox, pod, { claim, former });
});

it("LC-24 the API server away in the middle of a move: the mount serves on, and the move is completed after that", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  const container = await processOf(cluster, pod);
  const seen = (file: string) => readFileSync(`/proc/${container?.pid}/root/tmp/${file}`, "utf8");
  const { lab } = cluster;
  const server = lab.component("kube-apiserver");
  const signal = AbortSignal.timeout(long.timeout);
  await requestMove(cluster, former, "1");
  await expect.poll(() => mountpointPodsWith(cluster, claim), { ...long, interval: 5 }).toHaveLength(2);
  await server.kill(signal);
  try {
    const written = seen("seen/write").length;
    await expect.poll(() => seen("seen/write").length, long).toBeGreaterThan(written);
    expect(seen("errors")).toBe("");
  } finally {
    await server.start(signal);
    await lab.untilApiAnswers(signal);
  }
  await expectMoved(sandbox, pod, { claim, former });
});

it("LC-24 a Pod with another volume inside of the mount keeps its mount, in all of its containers", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = { namespace: sandbox.name, name: "nested" };
  const manifest = podManifest(pod, { node, claim }) as {
    spec: { containers: { name: string; volumeMounts: object[] }[]; volumes: object[] };
  };
  const [plain] = manifest.spec.containers;
  if (plain === undefined) throw new Error("a Pod has a container");
  const inside = { name: "inside", mountPath: "/data/inside" };
  manifest.spec.containers.push({ ...plain, name: "nested", volumeMounts: [...plain.volumeMounts, inside] });
  manifest.spec.volumes.push({ name: "inside", emptyDir: {} });
  await cluster.apply(manifest);
  await cluster.untilReady(pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  const before = await deviceOf(former);

  await requestMove(cluster, former, "1");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toMatch(/VolumeNotMoved: .*holds other mounts/);
  for (const container of ["app", "nested"]) {
    expect(await cluster.exec(pod, "grep mountpoint-s3 /proc/self/mountinfo | cut -d' ' -f3", container)).toBe(
      `${before.join("")}\n`,
    );
    await cluster.exec(pod, `echo ${container} > /data/${container}`, container);
  }
  expect(await phaseOf(cluster, former)).toBe("Running");
  await cluster.deletePod(pod);
  await expect.poll(() => mountpointPodsWith(cluster, claim), long).toEqual([]);
});

it("LC-21 workloads leave a Mountpoint Pod that is being deleted before its grace period ends", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(sandbox, { claim, node });
  await untilWorking(cluster, pod);
  const { name: former } = await mountS3Of(cluster, node, claim);
  await cluster.kubectl("delete", "pod", former, "-n", "mount-s3", "--wait=false");
  await expect.poll(() => eventsIn(cluster, sandbox.name), long).toContain("VolumeMoved");
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  // Long before the ten minutes of its grace period.
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
});

/** The device of the source of a Mountpoint Pod, as mountinfo names it. */
async function deviceOf(mountpointPod: string): Promise<readonly string[]> {
  const table = await onNode(cluster, node, "sh", "-c", `grep ${mountpointPod} /proc/1/mountinfo`);
  return [
    ...new Set(
      table
        .trim()
        .split("\n")
        .map((line) => line.split(" ")[2] ?? ""),
    ),
  ];
}

interface Moved {
  readonly claim: string;
  readonly former: string;
}

/** Without an error in the workload, files that were open all the time included. */
async function expectMoved(sandbox: Sandbox, pod: PodRef, { claim, former }: Moved): Promise<void> {
  await expect.poll(() => holders(cluster, claim), long).not.toContain(former);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
}
