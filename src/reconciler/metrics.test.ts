import { Registry } from "prom-client";
import { beforeEach, expect, it, vi } from "vitest";
import type { PodName } from "../core/names.ts";
import type { ObservedAttachment } from "./decision/decision.ts";
import type { ReportedMountpointPod } from "./domain/controller-status.ts";
import { ReconcilerMetrics } from "./metrics.ts";
import { emptyView, type View } from "./observe/view.ts";

let registry: Registry;
let view: View;
let metrics: ReconcilerMetrics;

beforeEach(() => {
  registry = new Registry();
  view = emptyView();
  metrics = new ReconcilerMetrics(registry);
  metrics.measure(view);
});

function has({ name, ...pod }: Partial<Omit<ReportedMountpointPod, "name">> & { readonly name: string }): void {
  const base = { name: name as PodName, node: "n", persistentVolume: "pv" };
  view.mountpointPods.put(name, "1", { ...base, ...pod } as ReportedMountpointPod);
}

it("counts Mountpoint Pods by phase, and those with a problem by its kind", async () => {
  has({ name: "mp-1", phase: "running" });
  has({ name: "mp-2", phase: "running", problem: { kind: "stuck", cause: "", fix: "" } });
  has({ name: "mp-3", phase: "pending", problem: { kind: "unschedulable", cause: "", fix: "" } });
  expect(await registry.metrics()).toContain('s3_csi_mountpoint_pods{phase="running"} 2\n');
  view.mountpointPods.remove("mp-1");
  const text = await registry.metrics();
  expect(text).toContain('s3_csi_mountpoint_pods{phase="running"} 1\n');
  expect(text).toContain('s3_csi_mountpoint_pods{phase="failed"} 0\n');
  expect(text).toContain('s3_csi_mountpoint_pod_problems{problem="stuck"} 1\n');
  expect(text).toContain('s3_csi_mountpoint_pod_problems{problem="unschedulable"} 1\n');
  expect(text).toContain('s3_csi_mountpoint_pod_problems{problem="crashing"} 0\n');
  expect(text).toContain('s3_csi_cached_objects{cache="mountpointPods"} 2\n');
});

const served = (...uids: readonly string[]) => uids.map((workloadPodUID) => ({ workloadPodUID }));

it("counts the workloads of all attachments", async () => {
  const spec = {
    nodeName: "n",
    persistentVolumeName: "pv",
    mountpointS3PodAttachments: { "mp-1": served("a", "b"), "mp-2": served("c") },
  };
  view.attachments.put("s3pa-1", "1", { spec } as unknown as ObservedAttachment);
  expect(await registry.metrics()).toContain("\ns3_csi_attached_workloads 3\n");
});

it.for<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ["new", {}, ["a"]],
  ["assigned", { Assigned: "True", Scheduled: "True" }, ["a"]],
  ["unscheduled", { Assigned: "True", Scheduled: "False" }, ["a"]],
  ["unassigned", { Assigned: "False", Scheduled: "True" }, ["a"]],
  ["unused", { Assigned: "True", Scheduled: "True" }, []],
])("OP-3 counts attachments by state: %s for %j", async ([state, statuses, workloads]) => {
  const spec = {
    nodeName: "n",
    persistentVolumeName: "pv",
    mountpointS3PodAttachments: { "mp-1": served(...workloads) },
  };
  const conditions = Object.entries(statuses).map(([type, status]) => ({ type, status }));
  view.attachments.put("s3pa-1", "1", { spec, status: { conditions } } as unknown as ObservedAttachment);
  const counts = (await registry.metrics()).matchAll(/^s3_csi_attachments\{state="(\w+)"\} (\d)$/gm);
  const shown = Array.from(counts, ([, name, count]) => [name, Number(count)] as const);
  expect(shown.length).toBe(5);
  expect(shown.filter(([, count]) => count > 0)).toEqual([[state, 1]]);
});

it("SC-5 a scrape looks at no object, however many there are", async () => {
  has({ name: "mp-1", phase: "running" });
  const walks = [vi.spyOn(view.mountpointPods, "values"), vi.spyOn(view.attachments, "values")];
  expect(await registry.metrics()).toContain('s3_csi_mountpoint_pods{phase="running"} 1\n');
  for (const walk of walks) expect(walk).not.toHaveBeenCalled();
});

it("shows whether this replica leads", async () => {
  expect(await registry.metrics()).toContain("\ns3_csi_leader 0\n");
  const term = metrics.leading();
  expect(await registry.metrics()).toContain("\ns3_csi_leader 1\n");
  term[Symbol.dispose]();
  expect(await registry.metrics()).toContain("\ns3_csi_leader 0\n");
});

it("LC-21 shows how far the rollout is, and why it is held, while this replica leads", async () => {
  const counts = { current: 4, outdated: 3, moving: 2, failed: 1, skipped: 0 };
  const blocked = { kernel: 2, notReady: 0, room: 1 };
  const shown = metrics.rollout(() => ({ counts, decision: { held: "failures", blocked, failures: [{} as never] } }));
  const text = await registry.metrics();
  expect(text).toContain('\ns3_csi_rollout_mountpoint_pods{state="outdated"} 3\n');
  expect(text).toContain('\ns3_csi_rollout_held{because="failures"} 1\n');
  expect(text).toContain('\ns3_csi_rollout_held{because="window"} 0\n');
  expect(text).toContain("\ns3_csi_rollout_failures 1\n");
  expect(text).toContain('\ns3_csi_rollout_blocked_mountpoint_pods{because="kernel"} 2\n');
  shown[Symbol.dispose]();
  const later = await registry.metrics();
  expect(later).toContain('\ns3_csi_rollout_mountpoint_pods{state="outdated"} 0\n');
  expect(later).toContain('\ns3_csi_rollout_held{because="failures"} 0\n');
});
