import { expect, it } from "vitest";
import { mountpointPod, podOf } from "../../../test/support/fake-node.ts";
import type { NodeName, PodName } from "../../core/names.ts";
import { VolumeFigures } from "./volume-figures.ts";
import { volumeMetrics } from "./volume-metrics.ts";

it("shows the figures of a volume with its claim, for as long as its Mountpoint Pod exists", () => {
  const figures = new VolumeFigures();
  const attributes = { s3_request: "PutObject", http_status: "403" };
  const point = { kind: "sum", temporality: "cumulative", startNs: 1n, count: 0 } as const;
  figures.add([
    { ...point, name: "s3.request_errors", attributes, value: 2 },
    { ...point, kind: "gauge", name: "process.memory_usage", attributes: {}, value: 3 },
  ]);
  const pods = new Map([[mountpointPod, podOf({ claim: "team-a/photos" })]]);
  const gone = ["mp-gone" as PodName, figures] as const;
  const receivers = { figures: [[mountpointPod, figures], gone] as const };
  const metrics = () => [...volumeMetrics({ node: "node-1" as NodeName, receivers, mountpointPods: pods })].join("");
  const labels =
    'node="node-1",namespace="team-a",persistentvolumeclaim="photos",persistentvolume="photos-pv",' +
    `mountpoint_pod="${mountpointPod}"`;
  const text = metrics();
  expect(text).toContain(`s3_csi_volume_s3_errors_total{${labels},operation="PutObject",code="403"} 2\n`);
  expect(text).toContain(`s3_csi_volume_memory_bytes{${labels}} 3\n`);
  expect(text).toContain("# TYPE s3_csi_volume_s3_errors_total counter\n");
  expect(text).not.toContain("mp-gone");
  pods.clear();
  expect(metrics()).not.toContain("team-a");
});

it("a volume of an earlier version has no claim", () => {
  const figures = new VolumeFigures();
  figures.add([
    {
      name: "process.memory_usage",
      kind: "gauge",
      temporality: "delta",
      startNs: 1n,
      attributes: {},
      value: 3,
      count: 0,
    },
  ]);
  const lines = volumeMetrics({
    node: "node-1" as NodeName,
    receivers: { figures: [[mountpointPod, figures]] },
    mountpointPods: { get: () => podOf({ claim: undefined }) },
  });
  expect([...lines].join("")).toContain('namespace="",persistentvolumeclaim="",persistentvolume="photos-pv"');
});
