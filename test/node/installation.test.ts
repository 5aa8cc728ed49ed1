/**
 * An installation that differs from the lab's usual one where only a cluster of its own can show it: kubelet's directory, the
 * pid namespace of the node plugin, a short patience with mounts that hang, and no metrics, as the chart comes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { driverNamespace, installDriver, loadedImages, loadImages } from "../../lab/install-driver.ts";
import { Lab } from "../../lab/lab.ts";
import { network } from "../../lab/layout.ts";
import { inside } from "../../lab/namespaces.ts";
import type { Progress } from "../../lab/progress.ts";
import { run } from "../../lab/run.ts";
import { failurePattern } from "../../src/core/failures/call-failures.ts";
import type { PodUid } from "../../src/core/names.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { commDir, sourcesDir } from "../../src/node/domain/target-path.ts";
import { Cluster, openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { csiSocketOf, mountS3Of, onNode, stopped } from "../support/mount-s3-process.ts";
import { publishRequestFor } from "../support/publish-request.ts";
import { compileFixture } from "../wire/fixture-programs.ts";

const name = "test-root";
const node = "worker-1";
/** As long as the one of microk8s, but in memory, so that nothing is left on this machine. */
const kubeletRoot = "/run/snap/microk8s/common/var/lib/kubelet";
const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const patience = () => AbortSignal.timeout(240_000);
const long = { timeout: 240_000, interval: 200 };

let cluster: Cluster;
let tools: string;

beforeAll(async () => {
  tools = mkdtempSync(join(tmpdir(), "tools-"));
  compileFixture("writer", tools);
  const model = openCluster().lab;
  const lab = await Lab.start(patience(), { name, nodes: 1, kubeletRoot }, model.programs, quiet);
  await loadImages(patience(), lab, await loadedImages(model), quiet);
  await installDriver(patience(), lab, quiet, [
    "node.hostPID=true",
    "node.hangLimitSeconds=10",
    "metrics.enabled=false",
  ]);
  cluster = new Cluster(lab);
});

afterAll(async () => {
  await Lab.remove(patience(), name);
  rmSync(tools, { recursive: true, force: true });
});

it("MP-7 a volume is mounted where the path of the Mountpoint Pod's socket is longer than the kernel takes", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo far > /data/a.txt");
  expect(await objectText(sandbox, "a.txt")).toBe("far\n");
  const { name: mountpointPod, uid } = await mountS3Of(cluster, node, claim);
  expect(`${commDir(kubeletRoot, uid as PodUid)}/mount.sock`).toHaveLength(131);
  const mounts = await onNode(cluster, node, "cat", "/proc/1/mountinfo");
  expect(mounts).toContain(` ${sourcesDir(kubeletRoot)}/${mountpointPod} `);

  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  const elsewhere = publishRequestFor({ claim, bucket: sandbox.bucket, workload: uid, kubeletDir: "/var/lib/kubelet" });
  const refused = kubelet.nodePublishVolume(elsewhere);
  await expect(refused).rejects.toThrow(failurePattern("wrongKubeletPath"));
  await expect(refused).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringMatching(
      `/var/lib/kubelet/.* is not a volume of a Pod under ${kubeletRoot}.*node.kubeletPath`,
    ),
  });
});

it.for([
  ["s3-csi-node", 9808, "/livez"],
  ["s3-csi-controller", 9809, "/livez"],
  ["s3-csi-controller", 9810, "/livez"],
  ["s3-csi-controller", 9811, "/healthz/leader-election"],
] as const)("SE-7 %s answers on port %d for its health, and has no metrics", async ([app, port, health]) => {
  const [pod] = await cluster.list<Pod>("pods", "-n", driverNamespace, "-l", `app=${app}`);
  const proxy = `/api/v1/namespaces/${driverNamespace}/pods/${pod?.metadata.name}:${port}/proxy`;
  expect(await cluster.kubectl("get", "--raw", proxy + health)).toBe("ok");
  await expect(cluster.kubectl("get", "--raw", `${proxy}/metrics`)).rejects.toThrow("NotFound");
});

it("DS-10 private: a close by another thread waits for the upload, a forked sharer ends the file; host: the reverse", async () => {
  await using sandbox = await cluster.sandbox();
  const [unseeing, seeing] = await Promise.all(
    ["private", "host"].map(async (mountPidNamespace) => {
      const claim = await sandbox.volume({
        name: `${sandbox.name}-${mountPidNamespace}`,
        attributes: { mountPidNamespace },
      });
      const pod = await sandbox.pod(mountPidNamespace, { node, claim, tools });
      await cluster.untilReady(pod);
      return pod;
    }),
  );
  if (unseeing === undefined || seeing === undefined) throw new Error("there are no Pods");

  expect(await forked(unseeing)).toEqual(["write 0", `write ${EBADF}`, expect.stringMatching(/^close /)]);
  expect(await forked(seeing)).toEqual(["write 0", "write 0", "close 0"]);
  expect(await objectText(sandbox, "fork-host")).toBe("firstsecond");

  for (const pod of [unseeing, seeing]) await startThreaded(pod);
  let backAt: number;
  {
    await using _away = await storeOutOfReach();
    for (const pod of [unseeing, seeing]) await cluster.exec(pod, "touch /tmp/go");
    await expect.poll(() => closeOf(seeing), long).toMatchObject({ error: 0 });
    backAt = Date.now();
  }
  await expect.poll(() => closeOf(unseeing), long).toMatchObject({ error: 0 });
  expect((await closeOf(seeing))?.at).toBeLessThanOrEqual(backAt);
  expect((await closeOf(unseeing))?.at).toBeGreaterThanOrEqual(backAt);
  expect(await objectText(sandbox, "threads-private")).toBe("whole");
});

it("a process that waits for a hung mount-s3 is freed and works again, one that waits for the object store is left alone", async () => {
  await using sandbox = await cluster.sandbox();
  const [claim, other] = [await sandbox.volume(), await sandbox.volume()];
  const [stuck, patient] = [
    await sandbox.pod("stuck", { node, claim }),
    await sandbox.pod("patient", { node, claim: other }),
  ];
  for (const pod of [stuck, patient]) await cluster.untilReady(pod);
  await cluster.exec(patient, `for n in $(seq ${readers}); do echo $n > /data/$n.txt; done`);
  const mountS3 = await mountS3Of(cluster, node, claim);
  const before = await mountS3Of(cluster, node, other);
  await using _hung = await stopped(cluster, node, mountS3);
  {
    await using _away = await storeOutOfReach();
    await cluster.exec(patient, `for n in $(seq ${readers}); do cat /data/$n.txt > /dev/null 2>&1 & done`);
    await cluster.exec(stuck, "(ls /data > /tmp/said 2>&1; echo $? > /tmp/code) > /dev/null 2>&1 &");
    await expect.poll(() => cluster.exec(stuck, "cat /tmp/code || true"), long).toBe("1\n");
  }
  // Nobody can end it, so another Mountpoint Pod takes over.
  await expect
    .poll(() => cluster.exec(stuck, "echo again > /data/again.txt; cat /data/again.txt || true"), long)
    .toBe("again\n");
  await expect.poll(() => cluster.exec(patient, "cat /data/1.txt || true"), long).toBe("1\n");
  // A connection that was ended takes its mount-s3 along.
  expect(await mountS3Of(cluster, node, other)).toEqual(before);
});

/** More than mount-s3 has threads for requests: all of them wait, and none is left to answer the node plugin. */
const readers = 20;

const EBADF = 9;

/** What a writer says that shares its descriptor with a child: calls and errors, in order. */
async function forked(pod: PodRef): Promise<readonly string[]> {
  const output = await cluster.exec(pod, `/tools/writer fork /data/fork-${pod.name}`);
  return output
    .trim()
    .split("\n")
    .map((line) => line.split(" ").slice(0, 2).join(" "));
}

/** Returns when everything is written and nothing is closed. */
async function startThreaded(pod: PodRef): Promise<void> {
  const file = `/data/threads-${pod.name}`;
  await cluster.exec(pod, `/tools/writer threads ${file} > /tmp/log 2>&1 & until grep -q written /tmp/log; do :; done`);
}

async function closeOf(pod: PodRef): Promise<{ readonly error: number; readonly at: number } | undefined> {
  const log = await cluster.exec(pod, "cat /tmp/log");
  const [, error, at] = /^close (\d+) (\d+)$/m.exec(log) ?? [];
  return at === undefined ? undefined : { error: Number(error), at: Number(at) };
}

/** From here to the end of the scope no node reaches the object store: its packets are lost. */
async function storeOutOfReach(): Promise<AsyncDisposable> {
  const rule = ["INPUT", "-i", "br0", "-p", "tcp", "--dport", `${network.s3Port}`, "-j", "DROP"];
  const iptables = (how: string) => run(inside(cluster.lab.hub, ["iptables", how, ...rule]), { signal: patience() });
  await iptables("-I");
  return { [Symbol.asyncDispose]: async () => void (await iptables("-D")) };
}

async function objectText({ bucket }: Sandbox, key: string): Promise<string | undefined> {
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  return await Body?.transformToString();
}
