import { expect, it } from "vitest";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, waitingPod } from "../../topology/cluster.fixture.ts";
import { styleFor } from "../output/style.ts";
import { treeText } from "./tree.ts";

it("WM-1 counts the Mountpoint Pods that wait for a volume, by node", () => {
  const text = treeText(
    buildTopology(cluster({ volumes: [], attachments: [], mountpointPods: [waitingPod()] })),
    styleFor(false, undefined),
  );
  expect(text).toContain("Mountpoint Pods that wait for a volume: 1\n");
  expect(text).toContain("node worker-1\n");
  expect(text).toMatch(/Mountpoint Pod mp-warm-0{10}…  Running, 10m  idle/);
});
