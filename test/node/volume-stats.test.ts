/** What kubelet and monitoring are told about volumes, and that asking never hangs. */
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import type { PodUid, PvName } from "../../src/core/names.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import { openCluster } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { csiSocketOf, mountS3Of, stopped } from "../support/mount-s3-process.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
/** The limits of the requirement itself. */
const answered = { deadlineMs: 30_000 };

it("PR-4 kubelet exposes volume statistics; a stopped mount-s3 is reported abnormal while the call answers", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const metric = (name: string) => metricOf(`${name}{namespace="${sandbox.name}",persistentvolumeclaim="${claim}"}`);
  const abnormal = () => metric("kubelet_volume_stats_health_status_abnormal");
  await expect.poll(() => metric("kubelet_volume_stats_capacity_bytes"), long).toBe("0");
  await expect.poll(() => metric("kubelet_volume_stats_used_bytes"), long).toBe("0");
  await expect.poll(abnormal, long).toBe("0");

  const workload = ((await cluster.get<Pod>("pod", "app", "-n", pod.namespace))?.metadata.uid ?? "") as PodUid;
  const volumePath = targetPath("/var/lib/kubelet", { workload, persistentVolume: claim as PvName });
  const request = { volumeId: claim, volumePath, stagingTargetPath: "" };
  using driver = csiClient(NodeService, csiSocketOf(cluster, node));
  const condition = async () => (await driver.nodeGetVolumeStats(request, answered)).volumeCondition;
  await expect.poll(condition, long).toEqual({ abnormal: false, message: "mount-s3 answers" });

  const mountS3 = await mountS3Of(cluster, node, claim);
  {
    await using _hung = await stopped(cluster, node, mountS3);
    const says = { abnormal: true, message: expect.stringMatching(`does not answer.*${mountS3.name}`) };
    // More than libuv has threads: none of them may be used up.
    expect(await Promise.all(Array.from({ length: 6 }, condition))).toEqual(Array.from({ length: 6 }, () => says));
    await expect.poll(abnormal, long).toBe("1");
  }
  await expect.poll(condition, long).toMatchObject({ abnormal: false });
  await expect.poll(abnormal, long).toBe("0");
});

it("a volume that is not published at the path is not found", async () => {
  using driver = csiClient(NodeService, csiSocketOf(cluster, node));
  const volumePath = "/var/lib/kubelet/pods/none/volumes/kubernetes.io~csi/none/mount";
  await expect(
    driver.nodeGetVolumeStats({ volumeId: "none", volumePath, stagingTargetPath: "" }, answered),
  ).rejects.toMatchObject({ code: status.NOT_FOUND });
});

/** The value behind this name and these labels; undefined if kubelet does not tell it. */
async function metricOf(series: string): Promise<string | undefined> {
  const text = await cluster.kubectl("get", "--raw", `/api/v1/nodes/${node}/proxy/metrics`);
  return text
    .split("\n")
    .find((line) => line.startsWith(`${series} `))
    ?.split(" ")[1];
}
