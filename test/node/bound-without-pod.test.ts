/** A container that runs on although its Pod is gone from the API server: its mount outlives every time limit. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AttachmentStatus } from "../../src/core/attachment-status.ts";
import type { MountpointS3PodAttachment } from "../../src/kube/kinds.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { onNode } from "../support/mount-s3-process.ts";
import { mountpointPodsOf, mountsNaming, objectText, podOf, targetOf } from "../support/traces.ts";

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

it("DS-14 the node reports the bind mount, and the Mountpoint Pod stays until it is gone, however long that takes", async () => {
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("forced", { node, claim });
  await cluster.untilReady(pod);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  const target = await targetOf(cluster, pod, claim);
  await expect.poll(() => statusOf(claim, name), long).toMatchObject({ health: "serving" });

  // Without kubelet nobody stops the container, nor unmounts anything.
  const kubelet = cluster.lab.component(`${node}/kubelet`);
  await kubelet.kill(AbortSignal.timeout(long.timeout));
  await using _started = { [Symbol.asyncDispose]: () => kubelet.start(AbortSignal.timeout(long.timeout)) };
  await cluster.kubectl("delete", "pod", pod.name, "-n", pod.namespace, "--grace-period=0", "--force");
  await expect.poll(() => statusOf(claim, name), long).toMatchObject({ inUse: true });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const annotation = `s3.csi.scality.com/needs-unmount-since=${since}`;
  await cluster.kubectl("annotate", "pod", name, "-n", "mount-s3", "--overwrite", annotation);

  await onNode(cluster, node, "sh", "-c", 'echo still here > "$1/last.txt"', "write", target);
  expect(await objectText(sandbox, "last.txt")).toBe("still here\n");
  expect((await podOf(cluster, { namespace: "mount-s3", name }))?.metadata.deletionTimestamp).toBeUndefined();

  await kubelet.start(AbortSignal.timeout(long.timeout));
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  expect(await mountsNaming(cluster, node, name)).toBe("");
});

async function statusOf(claim: string, name: string): Promise<object | undefined> {
  const all = await cluster.list<MountpointS3PodAttachment & { status?: AttachmentStatus }>("s3pa");
  const found = all.find(({ spec }) => spec.persistentVolumeName === claim);
  return found?.status?.mountpointPods?.[name];
}
