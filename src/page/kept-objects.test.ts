import { expect, it } from "vitest";
import { metadata } from "../topology/cluster.fixture.ts";
import type { Pod } from "../topology/objects.ts";
import { keptEvent, keptMountpointPod, keptWorkload } from "./kept-objects.ts";

const pod: Pod = {
  metadata: { ...metadata("app", "shop"), annotations: { note: "secret-note" } },
  spec: {
    nodeName: "worker-1",
    containers: [{ name: "app", env: [{ name: "PASSWORD", value: "hunter2" }] }],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "claim" } },
      { name: "other", configMap: {} } as { name: string },
    ],
  },
  status: { phase: "Running" },
};

it("of a workload stays what the topology needs, and nothing of its environment", () => {
  expect(keptWorkload(pod)).toEqual({
    metadata: metadata("app", "shop"),
    spec: { containers: [], volumes: [{ name: "data", persistentVolumeClaim: { claimName: "claim" } }] },
    status: { phase: "Running" },
  });
});

it("a Pod without claims is not kept", () => {
  expect(keptWorkload({ ...pod, spec: { containers: [] } })).toBeUndefined();
});

it("of a Mountpoint Pod labels and annotations stay, and no container", () => {
  expect(JSON.stringify(keptMountpointPod(pod))).toContain("secret-note");
  expect(JSON.stringify(keptMountpointPod(pod))).not.toContain("hunter2");
});

it("an event about something else is not kept", () => {
  const event = { metadata: metadata("e", "shop"), involvedObject: { kind: "Node", name: "worker-1" }, reason: "X" };
  expect(keptEvent(event)).toBeUndefined();
  expect(keptEvent({ ...event, involvedObject: { kind: "Pod", name: "app" } })?.reason).toBe("X");
});
