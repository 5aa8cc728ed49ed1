/** What Prometheus sees of a driver that mounts, heals, provisions and fails. */
import { spawnSync } from "node:child_process";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { queries } from "../../scripts/dashboard.ts";
import { Claims } from "../support/claims.ts";
import { openCluster } from "../support/cluster.ts";
import { killMountS3 } from "../support/healing.ts";
import { reconcilerPod } from "../support/installed-reconciler.ts";
import { LabPrometheus } from "../support/lab-prometheus.ts";
import { pluginPod } from "../support/node-plugin.ts";
import { eventsOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it("OP-3 every program answers in the format of Prometheus", async () => {
  const [plugin, controller] = [await pluginPod(cluster, node), await reconcilerPod(cluster)];
  for (const [{ namespace, name }, port] of [
    [plugin, 9808],
    [controller, 9809],
    [controller, 9810],
  ] as const) {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}:${port}/proxy/metrics`;
    const input = await cluster.kubectl("get", "--raw", path);
    expect(input).toContain("s3_csi_build_info{");
    const { stdout, stderr, status } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
    expect({ stdout, stderr, status }).toEqual({ stdout: "", stderr: "", status: 0 });
  }
});

it("OP-3 counts are those of what happened, and every panel of the dashboard has data", async () => {
  await using sandbox = await cluster.sandbox();
  const used = await sandbox.pod("used", { node, claim: await sandbox.volume() });
  await cluster.untilReady(used);
  await cluster.exec(used, "echo hello > /data/a.txt; cat /data/a.txt /data/none; true");
  await using prometheus = await LabPrometheus.start(cluster);
  const seen = (query: string) => () => prometheus.sum(query);
  const calls = (method: string, codes: string) => seen(`s3_csi_rpc_seconds_count{method="${method}",code${codes}}`);
  const counted = {
    attached: seen("max(s3_csi_attached_workloads)"),
    serving: seen('s3_csi_mounts{health="serving"}'),
    buckets: seen('s3_csi_s3_request_seconds_count{operation="CreateBucket",result="ok"}'),
    kept: seen('s3_csi_kept_buckets_total{because="notEmpty"}'),
    deaths: seen("s3_csi_mount_deaths_total"),
    heals: seen("s3_csi_mount_heal_seconds_count"),
    created: calls("CreateVolume", '="OK"'),
  };
  const deleted = calls("DeleteVolume", '="OK"');
  const failed = calls("NodePublishVolume", '!="OK"');
  const starts = seen('s3_csi_publish_step_seconds_count{step="mount"}');
  const now = async () => await valuesOf(counted);
  const [before, failedBefore, startsBefore] = [await now(), await failed(), await starts()];
  const deletedBefore = await deleted();
  const more = (changes: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(before).map(([name, value]) => [name, value + (changes[name] ?? 0)]));

  await using claims = await Claims.ofClass(sandbox);
  const volume = await claims.volume("data");
  const pod = await sandbox.pod("app", { node, claim: "data" });
  const missing = await sandbox.volume({ attributes: { bucketName: "there-is-no-such-bucket" } });
  const stuck = await sandbox.pod("stuck", { node, claim: missing });
  await cluster.untilReady(pod);
  await killMountS3(cluster, node, volume.metadata.name);
  await expect.poll(() => eventsOf(cluster, pod), long).toContain("mount-s3 ended");
  await expect.poll(() => eventsOf(cluster, stuck), long).toContain("there-is-no-such-bucket");
  await expect.poll(failed, long).toBeGreaterThan(failedBefore);
  await cluster.deletePod(stuck);
  const whileServed = { attached: 1, serving: 1, buckets: 1, created: 1, deaths: 1, heals: 1 };
  await expect.poll(now, long).toEqual(more(whileServed));
  // At the beginning, and after the death.
  expect(await starts()).toBeGreaterThanOrEqual(startsBefore + 2);

  await cluster.s3.send(new PutObjectCommand({ Bucket: volume.spec.csi.volumeHandle, Key: "a.txt", Body: "a" }));
  await cluster.deletePod(pod);
  await claims.deleteVolume("data", volume);
  await expect.poll(now, long).toEqual(more({ buckets: 1, created: 1, deaths: 1, heals: 1, kept: 1 }));
  // csi-provisioner may repeat a call that has succeeded.
  await expect.poll(deleted, long).toBeGreaterThan(deletedBefore);

  // Of all that is over only what is still to be looked at; on a machine that is busy with other tests any program may be late.
  const alerts = async () => {
    const states = await prometheus.query('ALERTS{alertname!="S3CsiEventLoopSlow"}');
    return [...new Set(states.map(({ metric }) => metric["alertname"] ?? ""))].toSorted();
  };
  await expect.poll(alerts, long).toEqual(["S3CsiBucketKept", "S3CsiPublishFails"]);

  const ofTenant = `s3_csi_volume_bytes_total{namespace="${sandbox.name}"}`;
  await expect.poll(() => prometheus.sum(ofTenant), long).toBeGreaterThan(0);
  for (const query of queries) {
    const asked = query.replaceAll("$__rate_interval", "5m");
    await expect
      .poll(async () => ({ asked, has: (await prometheus.query(asked)).length > 0 }), long)
      .toEqual({
        asked,
        has: true,
      });
  }
});

async function valuesOf(asked: Readonly<Record<string, () => Promise<number>>>): Promise<Record<string, number>> {
  const values = await Promise.all(Object.entries(asked).map(async ([name, ask]) => [name, await ask()] as const));
  return Object.fromEntries(values);
}
