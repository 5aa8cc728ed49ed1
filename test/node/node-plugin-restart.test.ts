/** The node plugin may come and go: what it mounted stays, and can be released by its successor. */
import { expect, it } from "vitest";
import type { MountpointS3PodAttachment, Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };

it("LC-4 a restart of the DaemonSet changes nothing for mounts, and they are released afterwards", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo before > /data/before.txt");
  const selector = ["--field-selector", `spec.persistentVolumeName=${claim}`];
  const [attachment] = await cluster.list<MountpointS3PodAttachment>("s3pa", ...selector);
  const [mountpointPod = ""] = Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {});
  const mountsBefore = await mountsOf(claim);
  expect(mountsBefore).not.toBe("");

  await cluster.kubectl("rollout", "restart", "-n", "kube-system", "daemonset/s3-csi-node");
  await cluster.kubectl("rollout", "status", "-n", "kube-system", "daemonset/s3-csi-node", "--timeout=240s");

  expect(await mountsOf(claim)).toBe(mountsBefore);
  await cluster.exec(pod, "cat /data/before.txt && echo after > /data/after.txt");
  const seen = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
  expect(seen?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);

  const phases: (string | undefined)[] = [];
  await cluster.deletePod(pod);
  const gone = async () => {
    const now = await cluster.get<Pod>("pod", mountpointPod, "-n", "mount-s3");
    phases.push(now?.status?.phase);
    return now;
  };
  await expect.poll(gone, long).toBeUndefined();
  expect(phases).not.toContain("Failed");
  await expect.poll(() => sources(), long).not.toContain(mountpointPod);
});

/** Mount ids included: a remount would show. */
async function mountsOf(claim: string): Promise<string> {
  return onNode(`grep -F '/${claim}/mount' /proc/1/mountinfo || true`);
}

function sources(): Promise<string> {
  return onNode("grep -F mountpoint-s3 /proc/1/mountinfo || true");
}

function onNode(script: string): Promise<string> {
  return cluster.lab.node(node).exec(["sh", "-c", script], { signal: AbortSignal.timeout(60_000) });
}
