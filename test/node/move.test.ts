/** Running workloads move to another Mountpoint Pod, and notice nothing. */
import { expect, it } from "vitest";
import { annotations } from "../../src/core/names.ts";
import { openCluster, podManifest } from "../support/cluster.ts";
import { belowTheMount, eventsIn, identityOf, long, untilWorking } from "../support/healing.ts";
import { mountS3Of, onNode } from "../support/mount-s3-process.ts";
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
  const pod = await strictPod(cluster, sandbox, claim, node);
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

it("LC-24 a successor that cannot start changes nothing, and the next request is tried", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await strictPod(cluster, sandbox, claim, node);
  await untilWorking(cluster, pod);
  const { name: former, pid } = await mountS3Of(cluster, node, claim);
  {
    await using _bad = await withMountpointImage("registry.invalid/driver:none");
    await requestMove(cluster, former, "1");
    await expect
      .poll(() => eventsIn(cluster, sandbox.name), long)
      .toMatch(/VolumeNotMoved: .*works as before: .*image cannot be pulled/);
    await expect.poll(() => mountpointPodsWith(cluster, claim), long).toMatchObject([{ name: former }]);
  }
  expect(await holders(cluster, claim)).toEqual([former]);
  expect((await mountS3Of(cluster, node, claim)).pid).toBe(pid);

  await requestMove(cluster, former, "2");
  await expect.poll(() => holders(cluster, claim), long).not.toContain(former);
  await finishOpenFiles(cluster, pod, sandbox.bucket);
  await expect.poll(() => phaseOf(cluster, former), long).toBe("gone");
  await untilWorking(cluster, pod);
  expect(await errorsOf(cluster, pod)).toBe("");
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
  const pod = await strictPod(cluster, sandbox, claim, node);
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

/** For Mountpoint Pods that the reconciler creates within the scope. */
async function withMountpointImage(image: string): Promise<AsyncDisposable> {
  const deployment = ["deployment/s3-csi-controller", "-n", "kube-system"] as const;
  await cluster.kubectl("set", "env", ...deployment, "-c", "s3-pod-reconciler", `MOUNTPOINT_IMAGE=${image}`);
  await cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl("rollout", "undo", ...deployment);
      await cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
    },
  };
}
