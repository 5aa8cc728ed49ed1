/** Writes the Grafana dashboard of the chart from the list of its panels. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const checkout = join(import.meta.dirname, "..");
export const dashboardFile = join(checkout, "charts/scality-mountpoint-s3-csi-driver/monitoring/dashboard.json");

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly unit: "short" | "s" | "ops" | "bytes" | "Bps" | "percentunit";
  readonly queries: readonly Query[];
}

const p = (quantile: number, by: string, metric: string) =>
  `histogram_quantile(${quantile}, sum by (le, ${by}) (rate(${metric}_bucket[$__rate_interval])))`;
const ofPublish = '{method="NodePublishVolume"}';
const component = "on (instance) group_left (component) s3_csi_build_info";
const rate = (by: string, metric: string) => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;

const rows: Readonly<Record<string, readonly Panel[]>> = {
  "What there is": [
    panel(
      "Mounts by health",
      "short",
      ["sum by (health) (s3_csi_mounts)", "{{health}}"],
      ["sum(s3_csi_dead_mounts)", "not healed yet"],
    ),
    panel("Mountpoint Pods by phase", "short", ["max by (phase) (s3_csi_mountpoint_pods)", "{{phase}}"]),
    panel("Mountpoint Pods that do not run", "short", [
      "max by (problem) (s3_csi_mountpoint_pod_problems)",
      "{{problem}}",
    ]),
    panel("Attached workloads", "short", ["max(s3_csi_attached_workloads)", "workloads"]),
  ],
  Mounting: [
    panel("NodePublishVolume by result", "ops", [rate("code", `s3_csi_rpc_seconds_count${ofPublish}`), "{{code}}"]),
    panel("What a publish waits for (median)", "s", [p(0.5, "step", "s3_csi_publish_step_seconds"), "{{step}}"]),
    panel("What a publish waits for (99 %)", "s", [p(0.99, "step", "s3_csi_publish_step_seconds"), "{{step}}"]),
  ],
  "Volumes, by tenant namespace": [
    panel("Bytes that workloads read and write", "Bps", [
      rate("namespace, operation", "s3_csi_volume_bytes_total"),
      "{{namespace}} {{operation}}",
    ]),
    panel("Requests of mount-s3 to the object store", "ops", [
      rate("namespace, operation", "s3_csi_volume_s3_requests_total"),
      "{{namespace}} {{operation}}",
    ]),
    panel("Requests that the object store refused", "ops", [
      rate("namespace, code", "s3_csi_volume_s3_errors_total"),
      "{{namespace}} {{code}}",
    ]),
    panel("Memory of mount-s3", "bytes", ["sum by (namespace) (s3_csi_volume_memory_bytes)", "{{namespace}}"]),
  ],
  Healing: [
    panel(
      "Deaths and heals",
      "ops",
      [rate("instance", "s3_csi_mount_deaths_total"), "deaths {{instance}}"],
      [rate("instance", "s3_csi_mount_heal_seconds_count"), "heals {{instance}}"],
    ),
    panel("Time until a mount is back (99 %)", "s", [p(0.99, "instance", "s3_csi_mount_heal_seconds"), "{{instance}}"]),
    panel(
      "Failed and refused heals, hangs",
      "ops",
      [rate("instance", "s3_csi_mount_heal_failures_total"), "failed {{instance}}"],
      [rate("instance", "s3_csi_mount_heal_refusals_total"), "refused {{instance}}"],
      [rate("instance", "s3_csi_mount_hangs_total"), "hung {{instance}}"],
    ),
  ],
  Provisioning: [
    panel("CreateVolume and DeleteVolume by result", "ops", [
      rate("method, code", 's3_csi_rpc_seconds_count{method=~"CreateVolume|DeleteVolume"}'),
      "{{method}} {{code}}",
    ]),
    panel("Requests to the object store by result", "ops", [
      rate("operation, result", "s3_csi_s3_request_seconds_count"),
      "{{operation}} {{result}}",
    ]),
    panel("Buckets that were kept", "short", ["sum by (because) (s3_csi_kept_buckets_total)", "{{because}}"]),
  ],
  Reconciler: [
    panel("Leader", "short", ["s3_csi_leader", "{{pod}}"]),
    panel(
      "Queues",
      "short",
      ["sum by (queue) (s3_csi_queue_depth)", "waiting {{queue}}"],
      ["sum by (queue) (s3_csi_queue_failing)", "failing {{queue}}"],
    ),
    panel("Age of the oldest work", "s", ["max by (queue) (s3_csi_queue_oldest_seconds)", "{{queue}}"]),
    panel("Passes by result", "ops", [rate("queue, result", "s3_csi_reconcile_seconds_count"), "{{queue}} {{result}}"]),
  ],
  Programs: [
    panel("Requests to the API server", "ops", [rate("verb, code", "s3_csi_api_requests_total"), "{{verb}} {{code}}"]),
    panel("Memory", "bytes", [`process_resident_memory_bytes * ${component}`, "{{component}} {{instance}}"]),
    panel("CPU", "percentunit", [
      `rate(process_cpu_seconds_total[$__rate_interval]) * ${component}`,
      "{{component}} {{instance}}",
    ]),
    panel("Delay of the event loop (99 %)", "s", ['s3_csi_event_loop_delay_seconds{percentile="99"}', "{{instance}}"]),
  ],
};

function panel(title: string, unit: Panel["unit"], ...queries: readonly (readonly [string, string])[]): Panel {
  return { title, unit, queries: queries.map(([expr, legend]) => ({ expr, legend })) };
}

/** The queries of all panels, for tests. */
export const queries: readonly string[] = Object.values(rows)
  .flat()
  .flatMap((each) => each.queries.map(({ expr }) => expr));

const datasource = { type: "prometheus", uid: "${datasource}" };
const [columns, height] = [24, 8];

function shownPanel({ title, unit, queries: of }: Panel, id: number, gridPos: object): object {
  const targets = of.map(({ expr, legend }, at) => ({
    refId: String.fromCharCode("A".charCodeAt(0) + at),
    datasource,
    expr,
    legendFormat: legend,
  }));
  const fieldConfig = { defaults: { unit, min: 0 }, overrides: [] };
  return { id, type: "timeseries", title, datasource, gridPos, fieldConfig, targets };
}

/** The dashboard as Grafana imports it. */
export function dashboard(): string {
  const panels: object[] = [];
  for (const [row, [title, of]] of Object.entries(rows).entries()) {
    const y = row * (height + 1);
    const w = Math.floor(columns / of.length);
    const id = 100 * (row + 1);
    panels.push({ id, type: "row", title, collapsed: false, panels: [], gridPos: { h: 1, w: columns, x: 0, y } });
    for (const [at, each] of of.entries()) {
      panels.push(shownPanel(each, id + at + 1, { h: height, w, x: at * w, y: y + 1 }));
    }
  }
  const source = { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" };
  const all = {
    uid: "s3-csi-driver",
    title: "S3 CSI driver",
    tags: ["kubernetes", "storage", "s3"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: { list: [source] },
    panels,
  };
  return `${JSON.stringify(all, undefined, 2)}\n`;
}

if (import.meta.main) writeFileSync(dashboardFile, dashboard());
