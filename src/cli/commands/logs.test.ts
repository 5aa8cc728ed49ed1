import { expect, it } from "vitest";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, metadata } from "../../topology/cluster.fixture.ts";
import type { Pod } from "../../topology/objects.ts";
import { mergedLines, type Party, partiesOf } from "./logs.ts";

function driverPod(app: string, name: string, nodeName: string): Pod {
  return {
    metadata: { ...metadata(name, "kube-system"), labels: { app } },
    spec: { nodeName, containers: [{ name: app }] },
  };
}

const party = (title: string, isOwn: boolean): Party => ({ title, isOwn, namespace: "", pod: "", container: "" });

it("merges the logs of all parties by time, also where kubelet cuts zeros off", () => {
  const logs = [
    { party: party("a", true), text: "2026-01-15T10:00:00.2Z second\n2026-01-15T10:00:02Z fourth\n" },
    { party: party("b", true), text: "2026-01-15T10:00:00.1Z first\n2026-01-15T10:00:00.25Z third\n" },
  ];
  expect(mergedLines(logs, () => false).map(({ text }) => text)).toEqual(["first", "second", "third", "fourth"]);
});

it("takes only wanted lines of parties that serve many volumes", () => {
  const text = "2026-01-15T10:00:00Z about data\n2026-01-15T10:00:01Z about others\n";
  const lines = mergedLines([{ party: party("node", false), text }], (line) => line.includes("data"));
  expect(lines).toEqual([{ at: "2026-01-15T10:00:00Z", party: "node", text: "about data" }]);
});

it("asks the controllers, the node plugins of the volume's nodes, and its Mountpoint Pods", () => {
  const drivers = [
    driverPod("s3-csi-controller", "c", "worker-2"),
    driverPod("s3-csi-node", "n1", "worker-1"),
    driverPod("s3-csi-node", "n2", "worker-2"),
  ];
  const parties = partiesOf(buildTopology(cluster()).volumes, drivers);
  expect(parties.map(({ title }) => title)).toEqual(["s3-csi-controller", "s3-csi-node worker-1", "mount-s3 worker-1"]);
});
