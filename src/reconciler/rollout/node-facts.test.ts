import { describe, expect, it } from "vitest";
import { volume } from "../decision/situation.fixture.ts";
import { installation } from "../domain/installation.fixture.ts";
import { factsFrom, fits, needsOf, type PodOnNode, requestsOf } from "./node-facts.ts";

const now = new Date("2026-01-15T12:00:00Z");
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
    expect(factsFrom({ status: { ...status, nodeInfo: { kernelVersion } } }, [], now).obstacle).toBe(obstacle);
  });

  it.for([["False"], ["Unknown"]])("leaves a node alone whose condition Ready is %s", ([is = ""]) => {
    const conditions = [{ type: "Ready", status: is }];
    expect(factsFrom({ status: { ...status, conditions } }, [], now).obstacle).toBe("notReady");
  });

  it.for<[string, readonly PodOnNode[], boolean]>([
    ["an empty node", [], true],
    ["a node with just enough CPU", [podOf("990m", "1Mi")], true],
    ["a node with too little CPU", [podOf("991m", "1Mi")], false],
    ["a node with too little memory", [podOf("1m", "1000Mi")], false],
    ["a node with as many Pods as it may have", [podOf("1m", "1"), podOf("1m", "1"), podOf("1m", "1")], false],
    ["a node whose other Pods have ended", [podOf("1", "1Gi", "Succeeded"), podOf("1", "1Gi", "Failed")], true],
  ])("looks for room on %s", ([, pods, found]) => {
    const { free } = factsFrom({ status }, pods, now);
    expect(fits(needsOf(installation, volume), free)).toBe(found);
  });

  it("begins where the room is not known", () => {
    expect(fits(needsOf(installation, volume), factsFrom({ status: { conditions: ready } }, [], now).free)).toBe(true);
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
