import { expect, it } from "vitest";
import { mountpointPod, podOf } from "../../../test/support/fake-node.ts";
import type { NodeName, PodName, PodUid } from "../../core/names.ts";
import { VolumeFigures } from "./volume-figures.ts";
import { credentialMetrics, volumeMetrics } from "./volume-metrics.ts";

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

it("MP-4 shows when the credentials of each mount were written last, and nothing of mounts without credentials", () => {
  const [pod, starting] = [
    podOf({ claim: "team-a/photos" }),
    podOf({ name: "mp-starting" as PodName, uid: "u2" as PodUid }),
  ];
  const changedAt = (uid: PodUid) => (uid === pod.uid ? new Date(1_768_471_800_500) : undefined);
  const comm = { credentialsChangedAt: changedAt };
  const store = { values: () => [pod, starting] };
  const text = [...credentialMetrics({ node: "node-1" as NodeName, mountpointPods: { store }, comm })].join("");
  expect(text).toMatch(
    /s3_csi_volume_credentials_changed_timestamp_seconds\{node="node-1",namespace="team-a",[^}]*\} 1768471800.5\n$/,
  );
  expect(text).not.toContain("mp-starting");
});
