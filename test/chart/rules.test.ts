/** The rules of the chart, judged by Prometheus' own tool: each alert fires for its fault, and for no other. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { chartDirectory, only, render } from "./rendered-chart.ts";

const rulesFile = join(chartDirectory, "monitoring/rules.yaml");
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "s3-csi-rules-"));
});

afterAll(() => rmSync(directory, { recursive: true }));

/** Series of two hours in promtool's notation: a sample each minute. */
type Series = Readonly<Record<string, string>>;

/** A cluster in which everything is well: nothing fails, and some things happened long ago. */
const healthy: Series = {
  's3_csi_leader{instance="c1"}': "1x120",
  's3_csi_leader{instance="c2"}': "0x120",
  's3_csi_mounts{instance="n1",health="serving"}': "7x120",
  's3_csi_mounts{instance="n1",health="starting"}': "1x120",
  's3_csi_mounts{instance="n1",health="dead"}': "1x120",
  's3_csi_dead_mounts{instance="n1"}': "0x60 1 0x59",
  's3_csi_mount_deaths_total{instance="n1"}': "0x60 1x60",
  's3_csi_mount_heal_refusals_total{instance="n1"}': "3x120",
  's3_csi_mount_move_failures_total{instance="n1"}': "3x120",
  's3_csi_rpc_seconds_count{instance="n1",method="NodePublishVolume",code="OK"}': "0+5x120",
  's3_csi_rpc_seconds_count{instance="n1",method="NodePublishVolume",code="UNAVAILABLE"}': "0x30 4x90",
  's3_csi_rpc_seconds_count{instance="c1",method="CreateVolume",code="OK"}': "0+1x120",
  's3_csi_s3_request_seconds_count{instance="c1",operation="HeadBucket",result="missing"}': "0+1x120",
  's3_csi_mountpoint_pod_problems{instance="c1",problem="leaving"}': "1x120",
  's3_csi_mountpoint_pod_problems{instance="c1",problem="unschedulable"}': "0x120",
  's3_csi_rollout_held{instance="c1",because="window"}': "1x120",
  's3_csi_rollout_held{instance="c1",because="failures"}': "0x120",
  's3_csi_rollout_failures{instance="c1"}': "0x120",
  's3_csi_loop_stalled_seconds{instance="n1",loop="watch over pods"}': "59x120",
  's3_csi_loop_stall_limit_seconds{instance="n1",loop="watch over pods"}': "600x120",
  's3_csi_queue_oldest_seconds{instance="c1",queue="reconcile"}': "2x120",
  's3_csi_api_requests_total{instance="c1",verb="patch",resource="pods",code="200"}': "0+100x120",
  's3_csi_api_requests_total{instance="c1",verb="patch",resource="pods",code="409"}': "0+300x120",
  's3_csi_api_requests_total{instance="c1",verb="patch",resource="pods",code="429"}': "0+10x120",
  's3_csi_event_loop_delay_seconds{instance="n1",percentile="99"}': "0.02x120",
  's3_csi_event_loop_delay_seconds{instance="n1",percentile="100"}': "3x120",
  's3_csi_kept_buckets_total{instance="c1",because="policy"}': "0+1x120",
  's3_csi_volume_s3_errors_total{instance="n1",namespace="a",persistentvolume="v",operation="HeadObject",code="404"}':
    "0+9x120",
};

const faults: Readonly<Record<string, Series>> = {
  S3CsiMountDead: { 's3_csi_dead_mounts{instance="n1"}': "1x120" },
  S3CsiMountHung: { 's3_csi_mounts{instance="n1",health="hung"}': "1x120" },
  S3CsiMountDiesOften: { 's3_csi_mount_deaths_total{instance="n1"}': "0+0.5x120" },
  S3CsiHealRefused: { 's3_csi_mount_heal_refusals_total{instance="n1"}': "3x110 4x10" },
  S3CsiMoveFails: { 's3_csi_mount_move_failures_total{instance="n1"}': "3x110 4x10" },
  S3CsiPublishFails: {
    's3_csi_rpc_seconds_count{instance="n1",method="NodePublishVolume",code="UNAVAILABLE"}': "0+1x120",
  },
  S3CsiProvisioningFails: {
    's3_csi_rpc_seconds_count{instance="c1",method="CreateVolume",code="PERMISSION_DENIED"}': "0+1x120",
  },
  S3CsiStoreRefuses: {
    's3_csi_s3_request_seconds_count{instance="c1",operation="HeadBucket",result="denied"}': "0+1x120",
  },
  S3CsiVolumeDenied: {
    's3_csi_volume_s3_errors_total{instance="n1",namespace="a",persistentvolume="v",operation="PutObject",code="403"}':
      "0+1x120",
  },
  S3CsiVolumeStoreFails: {
    's3_csi_volume_s3_errors_total{instance="n1",namespace="a",persistentvolume="v",operation="PutObject",code="none"}':
      "0+1x120",
  },
  S3CsiMountpointPodUnschedulable: {
    's3_csi_mountpoint_pod_problems{instance="c1",problem="unschedulable"}': "1x120",
  },
  S3CsiMountpointPodDoesNotRun: { 's3_csi_mountpoint_pod_problems{instance="c1",problem="backingOff"}': "1x120" },
  S3CsiRolloutPaused: { 's3_csi_rollout_held{instance="c1",because="failures"}': "1x120" },
  S3CsiRolloutFails: { 's3_csi_rollout_failures{instance="c1"}': "1x120" },
  S3CsiNoLeader: { 's3_csi_leader{instance="c1"}': "0x120" },
  S3CsiLoopStalled: { 's3_csi_loop_stalled_seconds{instance="n1",loop="watch over pods"}': "400x120" },
  S3CsiQueueSlow: { 's3_csi_queue_oldest_seconds{instance="c1",queue="reconcile"}': "90x120" },
  S3CsiApiServerRefuses: {
    's3_csi_api_requests_total{instance="c1",verb="patch",resource="pods",code="429"}': "0+1000x120",
  },
  S3CsiEventLoopSlow: { 's3_csi_event_loop_delay_seconds{instance="n1",percentile="99"}': "2x120" },
  S3CsiBucketKept: { 's3_csi_kept_buckets_total{instance="c1",because="notEmpty"}': "0x100 1x20" },
};

const { groups } = parse(readFileSync(rulesFile, "utf8")) as { groups: { rules: { alert?: string }[] }[] };
const alerts = groups.flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));

it("OP-3 the rules are valid, and each alert has a fault here", () => {
  expect(promtool("check", "rules", rulesFile)).toContain("SUCCESS");
  expect(Object.keys(faults)).toEqual(alerts);
});

it("OP-3 no alert fires while everything is well", () => {
  expect(judged(healthy, [])).toContain("SUCCESS");
});

it.for(Object.entries(faults))("OP-3 %s fires for its fault, and no other alert does", ([alert, fault]) => {
  expect(judged({ ...healthy, ...fault }, [alert])).toContain("SUCCESS");
});

it.for(["none", "401", "403", "503"])("OP-2 S3CsiApiServerRefuses fires for a program that only gets %s", (code) => {
  const requests = {
    [`s3_csi_api_requests_total{instance="n1",verb="watch",resource="pods",code="${code}"}`]: "0+2x120",
  };
  expect(judged({ ...healthy, ...requests }, ["S3CsiApiServerRefuses"])).toContain("SUCCESS");
});

it("OP-3 S3CsiNoLeader also fires when there are no metrics of the reconciler", () => {
  expect(judged({ up: "1x120" }, ["S3CsiNoLeader"])).toContain("SUCCESS");
});

it("OP-3 the PrometheusRule has the rules as they are in the file", () => {
  const rule = only(render({ "prometheusRule.enabled": "true" }), "PrometheusRule");
  writeFileSync(join(directory, "rendered.yaml"), stringify(rule["spec"]));
  expect(promtool("check", "rules", join(directory, "rendered.yaml"))).toContain("SUCCESS");
  expect(JSON.stringify(rule["spec"])).toContain("{{ $labels.instance }}");
});

/** promtool's judgement: whether exactly these alerts fire after two hours. */
function judged(series: Series, expected: readonly string[]): string {
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }));
  const exp_samples = expected.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }));
  const expr = 'group by (alertname) (ALERTS{alertstate="firing"})';
  const promql_expr_test = [{ expr, eval_time: "2h", exp_samples }];
  const file = join(directory, "test.yaml");
  writeFileSync(
    file,
    stringify({ rule_files: [rulesFile], tests: [{ interval: "1m", input_series, promql_expr_test }] }),
  );
  return promtool("test", "rules", file);
}

/** What promtool prints, also if it finds a mistake. */
function promtool(...args: readonly string[]): string {
  const { stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  return `${stdout}${stderr}`;
}
