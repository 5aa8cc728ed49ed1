import { describe, expect, it } from "vitest";
import type { NodeName } from "../../core/names.ts";
import { needsVolumes, type WorkloadPod, workloadFrom } from "./workload.ts";

const pod: WorkloadPod = { metadata: { uid: "uid-1", name: "web", namespace: "shop" }, spec: {} };

it.for([
  { phase: "pending", terminating: false, node: undefined, needs: true },
  { phase: "pending", terminating: true, node: undefined, needs: false },
  { phase: "pending", terminating: false, node: "worker-1", needs: true },
  { phase: "pending", terminating: true, node: "worker-1", needs: true }, // DS-14: kubelet may have started a container
  { phase: "running", terminating: false, node: "worker-1", needs: true },
  { phase: "running", terminating: true, node: "worker-1", needs: true }, // DS-8: its containers may still write
  { phase: "finished", terminating: false, node: "worker-1", needs: false },
  { phase: "finished", terminating: true, node: "worker-1", needs: false },
] as const)(
  "$phase, terminating=$terminating, on $node → needs its volumes: $needs",
  ({ needs, node, ...workload }) => {
    expect(needsVolumes({ ...workload, node: node as NodeName | undefined })).toBe(needs);
  },
);

it.for([
  ["its sandbox was created, after its volumes were mounted", "True", "2026-01-15T10:00:05Z"],
  ["kubelet accepted it, where nothing else is known", "False", "2026-01-15T10:00:00Z"],
] as const)("a workload started when %s", ([, status, startedAt]) => {
  const sandbox = { type: "PodReadyToStartContainers", status, lastTransitionTime: "2026-01-15T10:00:05Z" };
  const reported = { startTime: "2026-01-15T10:00:00Z", conditions: [sandbox] };
  expect(workloadFrom({ ...pod, status: reported }).startedAt).toBe(startedAt);
});

describe("the phase", () => {
  const running = { state: { running: {} } };
  const waiting = { state: {} };
  const done = { state: { terminated: {} } };
  const restarting = { state: {}, lastState: { terminated: {} } };

  it.for([
    { status: undefined, phase: "pending", because: "kubelet has not reported yet" },
    { status: { phase: "Pending" }, phase: "pending", because: "no container exists" },
    { status: { phase: "Pending", containerStatuses: [waiting] }, phase: "pending", because: "none has started" },
    {
      status: { phase: "Pending", initContainerStatuses: [running], containerStatuses: [waiting] },
      phase: "running",
      because: "an init container uses the volumes",
    },
    {
      status: { phase: "Pending", initContainerStatuses: [done], containerStatuses: [waiting] },
      phase: "running",
      because: "the next container may start at any moment",
    },
    {
      status: { phase: "Pending", initContainerStatuses: [restarting] },
      phase: "running",
      because: "it will start again",
    },
    {
      status: { phase: "Running", containerStatuses: [running] },
      phase: "running",
      because: "the phase of the API is final or Running",
    },
    {
      status: { phase: "Running", containerStatuses: [restarting] },
      phase: "running",
      because: "a crash is not the end",
    },
    { status: { phase: "Unknown" }, phase: "running", because: "a lost node may still write" },
    {
      status: { phase: "Succeeded", containerStatuses: [done] },
      phase: "finished",
      because: "the phase of the API is final or Running",
    },
    { status: { phase: "Failed" }, phase: "finished", because: "it was evicted" },
  ])("is $phase when $because", ({ status, phase }) => {
    expect(workloadFrom({ ...pod, ...(status && { status }) }).phase).toBe(phase);
  });
});

it("recognises a terminating workload by its deletion timestamp", () => {
  const metadata = { ...pod.metadata, deletionTimestamp: "2026-01-15T10:30:00Z" };
  expect(workloadFrom({ ...pod, metadata }).terminating).toBe(true);
  expect(workloadFrom(pod).terminating).toBe(false);
});

it.for([
  [undefined, ""],
  [0, "0"],
  [2000, "2000"],
] as const)("writes fsGroup %s as %j", ([fsGroup, expected]) => {
  const securityContext = fsGroup === undefined ? {} : { fsGroup };
  expect(workloadFrom({ ...pod, spec: { securityContext } }).fsGroup).toBe(expected);
});

it("has no node before the scheduler chose one", () => {
  expect(workloadFrom(pod).node).toBeUndefined();
  expect(workloadFrom({ ...pod, spec: { nodeName: "worker-1" } }).node).toBe("worker-1");
});

it("names each claim once, those of generic ephemeral volumes included", () => {
  const volumes = [
    { name: "a", persistentVolumeClaim: { claimName: "data" } },
    { name: "b", persistentVolumeClaim: { claimName: "data" } },
    { name: "config" },
    { name: "scratch", ephemeral: {} },
  ];
  expect(workloadFrom({ ...pod, spec: { volumes } }).claims).toEqual(["data", "web-scratch"]);
});
