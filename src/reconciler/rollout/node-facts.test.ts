import { describe, expect, it } from "vitest";
import { volume } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { fits, freeRoom, needsOf, obstacleOf, type PodOnNode, requestsOf } from "./node-facts.ts";

const ready = [{ type: "Ready", status: "True" }];
const status = {
  allocatable: { pods: "3", cpu: "1", memory: "1Gi" },
  nodeInfo: { kernelVersion: "6.8.0-generic" },
  conditions: ready,
};
const podOf = (cpu: string, memory: string, phase = "Running"): PodOnNode => ({
  spec: { containers: [{ resources: { requests: { cpu, memory } } }] },
  status: { phase },
});

const everything = [{ operator: "Exists" }];
const taint = { key: "gpu", value: "a", effect: "NoSchedule" };

const of = (cpu: string) => ({ resources: { requests: { cpu } } });

describe("LC-21 a rollout", () => {
  it.for([
    ["6.8.0-generic", undefined],
    ["6.5.0", undefined],
    ["10.0", undefined],
    ["unknown", undefined],
    ["6.4.16", "kernel"],
    ["5.14.0-427.el9.x86_64", "kernel"],
  ] as const)("finds with Linux %s: %s", ([kernelVersion, obstacle]) => {
    expect(obstacleOf({ status: { ...status, nodeInfo: { kernelVersion } } }, [])).toBe(obstacle);
  });

  it.for([["False"], ["Unknown"]])("leaves a node alone whose condition Ready is %s", ([is = ""]) => {
    const conditions = [{ type: "Ready", status: is }];
    expect(obstacleOf({ status: { ...status, conditions } }, [])).toBe("notReady");
  });

  it("leaves a node alone that is gone", () => {
    expect(obstacleOf(undefined, everything)).toBe("notReady");
  });

  it.for<[string, object, readonly object[], "notReady" | undefined]>([
    ["a cordoned node that Mountpoint Pods tolerate", { unschedulable: true }, everything, undefined],
    ["a cordoned node", { unschedulable: true }, [], "notReady"],
    ["a taint", { taints: [taint] }, [], "notReady"],
    ["a taint for new Pods if possible", { taints: [{ ...taint, effect: "PreferNoSchedule" }] }, [], undefined],
    ["a taint that is tolerated by its key", { taints: [taint] }, [{ key: "gpu", operator: "Exists" }], undefined],
    ["a taint that is tolerated by its value", { taints: [taint] }, [{ key: "gpu", value: "a" }], undefined],
    ["a taint with another value", { taints: [taint] }, [{ key: "gpu", value: "b" }], "notReady"],
    [
      "a taint with another effect",
      { taints: [taint] },
      [{ key: "gpu", operator: "Exists", effect: "NoExecute" }],
      "notReady",
    ],
  ])("finds with %s what the scheduler would", ([, spec, tolerations, obstacle]) => {
    expect(obstacleOf({ status, spec }, tolerations)).toBe(obstacle);
  });

  it.for<[string, readonly PodOnNode[], boolean]>([
    ["an empty node", [], true],
    ["a node with just enough CPU", [podOf("990m", "1Mi")], true],
    ["a node with too little CPU", [podOf("991m", "1Mi")], false],
    ["a node with too little memory", [podOf("1m", "1000Mi")], false],
    ["a node with as many Pods as it may have", [podOf("1m", "1"), podOf("1m", "1"), podOf("1m", "1")], false],
    ["a node whose other Pods have ended", [podOf("1", "1Gi", "Succeeded"), podOf("1", "1Gi", "Failed")], true],
  ])("looks for room on %s", ([, pods, found]) => {
    expect(fits(needsOf(installation, volume), freeRoom({ status }, pods))).toBe(found);
  });

  it("begins where the room is not known", () => {
    expect(fits(needsOf(installation, volume), freeRoom({ status: { conditions: ready } }, []))).toBe(true);
  });

  it("counts init containers, sidecars, overhead and limits as the scheduler does", () => {
    const initContainers = [of("300m"), { ...of("50m"), restartPolicy: "Always" }];
    const limited = { resources: { limits: { cpu: "100m", memory: "2Ki" } } };
    expect(requestsOf({ spec: { containers: [limited], initContainers, overhead: { cpu: "10m" } } })).toEqual({
      pods: 1,
      cpu: 0.31,
      memory: 2048,
    });
  });
});
