import { describe, expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { type NodeName, type PodName, type PodUid, warmPodName } from "../../core/names.ts";
import type { PodProblem } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import { decide, isStartingUp, type ObservedNode } from "./decide.ts";

const now = new Date("2026-01-15T12:00:00Z");
const node = "worker-1" as NodeName;
const current = "settings of now";
const usable = { cordoned: false, pressure: false, ready: true };

function waiting(number: number, but: Partial<ReportedWaitingPod> = {}): ReportedWaitingPod {
  return {
    name: warmPodName("term", node, number),
    uid: `uid-${number}` as PodUid,
    resourceVersion: "1",
    node,
    createdAt: new Date("2026-01-15T11:00:00Z"),
    driverVersion: "3.0.0",
    phase: "running",
    terminating: false,
    needsUnmount: false,
    needsUnmountSince: undefined,
    noNewWorkload: false,
    readOnly: false,
    move: noMove,
    warmSettings: current,
    settings: undefined,
    scheduled: true,
    restarts: 0,
    deletionAskedAt: undefined,
    problem: undefined,
    ...but,
  };
}

const problem = (kind: PodProblem["kind"]): PodProblem => ({ kind, cause: "", fix: "" });
const old = { warmSettings: "settings of yesterday" };
const noRoom = { phase: "pending", problem: problem("unschedulable") } as const;
const broken = { phase: "pending", problem: problem("notStarting") } as const;
const young = new Date(now.getTime() - 10_000);

function observedWith(but: Partial<ObservedNode>): ObservedNode {
  return {
    ...{ now, node, perNode: 1, state: usable, withoutPluginMs: 0, pods: [], settings: current },
    ...{ abandoned: new Set<PodName>(), deleting: new Set<PodName>(), claimEndsMs: undefined },
    ...{ isStarting: false, backOffMs: 0, startable: 16 },
    ...but,
  };
}

function decided(but: Partial<ObservedNode>): string {
  const observed = observedWith(but);
  const { step, again } = decide(observed);
  if (step === undefined) return again === undefined ? "nothing" : `wait: ${again.because}`;
  if (step.do === "create") return "create";
  expect(again).toBeUndefined();
  return `delete ${observed.pods.indexOf(step.pod)}${step.isFailure ? " as a failure" : ""}: ${step.because}`;
}

describe("WM-1 a node", () => {
  it.for<[string, Partial<ObservedNode>, string]>([
    ["without one gets one", {}, "create"],
    ["with one needs nothing", { pods: [waiting(0)] }, "nothing"],
    ["with one that starts needs nothing", { pods: [waiting(0, { phase: "pending" })] }, "nothing"],
    ["that is to have three gets another", { perNode: 3, pods: [waiting(0), waiting(1)] }, "create"],
    ["on which a workload starts waits", { isStarting: true }, "wait: a workload is starting on the node"],
    ["on which earlier ones failed waits", { backOffMs: 7 }, "wait: earlier ones ended without a volume"],
    ["waits while enough are starting elsewhere", { startable: 0 }, "wait: enough are starting in the cluster"],
    ["that is not ready waits", { state: { ...usable, ready: false } }, "wait: the node is not ready"],
    ["whose node plugin restarts waits", { withoutPluginMs: 1 }, "wait: the node is not ready"],
    [
      "gets no other before one that is being deleted is gone",
      { pods: [waiting(0, { terminating: true })] },
      "nothing",
    ],
    [
      "gets no other before one that its node plugin ends is gone",
      { pods: [waiting(0, { needsUnmount: true })] },
      "nothing",
    ],
    ["that is cordoned gets none", { state: { ...usable, cordoned: true } }, "nothing"],
    ["under pressure gets none", { state: { ...usable, pressure: true } }, "nothing"],
    ["that is gone gets none", { state: undefined }, "nothing"],
    ["without a node plugin gets none", { withoutPluginMs: 500_000 }, "nothing"],
    [
      "keeps one while its node plugin restarts",
      { withoutPluginMs: 5000, pods: [waiting(0)] },
      "wait: the node plugin may come back",
    ],
    ["keeps one while it is not ready", { state: { ...usable, ready: false }, pods: [waiting(0)] }, "nothing"],
  ])("%s", ([, observed, expected]) => {
    expect(decided(observed)).toBe(expected);
  });
});

describe("WM-1 one that waits is deleted", () => {
  it.for<[string, Partial<ObservedNode>, string]>([
    [
      "when none are to wait",
      { perNode: 0, pods: [waiting(0)] },
      "delete 0: no Mountpoint Pods are to wait for volumes",
    ],
    ["when its node is gone", { state: undefined, pods: [waiting(0)] }, "delete 0: its node is gone"],
    [
      "when its node is under pressure",
      { state: { ...usable, pressure: true }, pods: [waiting(0)] },
      "delete 0: its node is under pressure",
    ],
    [
      "when its node is cordoned",
      { state: { ...usable, cordoned: true }, pods: [waiting(0)] },
      "delete 0: its node is cordoned",
    ],
    [
      "when no node plugin comes back",
      { withoutPluginMs: 120_000, pods: [waiting(0)] },
      "delete 0: no node plugin runs on its node",
    ],
    [
      "when fewer are to wait: the one that starts",
      { pods: [waiting(0), waiting(1, { phase: "pending" })] },
      "delete 1: more wait on the node than are to",
    ],
    [
      "when fewer are to wait: the outdated one",
      { pods: [waiting(0, old), waiting(1, { phase: "pending" })] },
      "delete 0: more wait on the node than are to",
    ],
    [
      "when it has ended",
      { pods: [waiting(0, { phase: "failed", problem: problem("ended") })] },
      "delete 0 as a failure: it has ended without a volume",
    ],
    [
      "when a volume was to get it, which may have got it",
      { pods: [waiting(0)], abandoned: new Set([waiting(0).name]) },
      "delete 0 as a failure: a volume was to get it and has not",
    ],
    ["when its node has no room", { pods: [waiting(0, noRoom)] }, "delete 0 as a failure: its node has no room for it"],
    [
      "not before the scheduler had time",
      { pods: [waiting(0, { ...noRoom, createdAt: young })] },
      "wait: the scheduler may find room",
    ],
    [
      "not while kubelet may still start it",
      { pods: [waiting(0, { ...broken, createdAt: young })] },
      "wait: kubelet may start it",
    ],
    ["when kubelet cannot start it", { pods: [waiting(0, broken)] }, "delete 0 as a failure: kubelet cannot start it"],
    [
      "when it has ended after its unmount",
      { pods: [waiting(0, { needsUnmount: true, phase: "succeeded", problem: problem("ended") })] },
      "delete 0 as a failure: it has ended without a volume",
    ],
    [
      "not before it has ended, when its node plugin ends it",
      { perNode: 0, pods: [waiting(0, { needsUnmount: true })], abandoned: new Set([waiting(0).name]) },
      "nothing",
    ],
    [
      "when it is to be ended and kubelet cannot start it",
      { pods: [waiting(0, { ...broken, needsUnmount: true })] },
      "delete 0 as a failure: kubelet cannot start it",
    ],
    [
      "when it is to be ended, has not started, and its settings are outdated",
      { pods: [waiting(0, { ...old, phase: "pending", needsUnmount: true })] },
      "delete 0: its settings are outdated",
    ],
    [
      "not before kubelet has had the time to start it, when it is to be ended",
      { pods: [waiting(0, { ...broken, createdAt: young, needsUnmount: true })] },
      "wait: kubelet may start it",
    ],
    [
      "when it is to be ended, and kubelet cannot start its container again",
      { pods: [waiting(0, { problem: problem("notRestarting"), needsUnmount: true })] },
      "delete 0 as a failure: kubelet cannot start it again",
    ],
    [
      "not while its node plugin ends it, although another of its containers never starts, and no limit of time is asked for twice",
      { pods: [waiting(0, { ...broken, phase: "running", needsUnmount: true })] },
      "nothing",
    ],
    [
      "when its deletion may have been accepted, although it is wanted again",
      { pods: [waiting(0)], deleting: new Set([waiting(0).name]) },
      "delete 0: its deletion was requested and may have been accepted",
    ],
    ["when its settings are outdated", { pods: [waiting(0, old)] }, "delete 0: its settings are outdated"],
    [
      "not while a successor of another starts",
      { perNode: 2, pods: [waiting(0, old), waiting(1, { phase: "pending" })] },
      "wait: a successor starts",
    ],
    [
      "not while enough are starting in the cluster",
      { startable: 0, pods: [waiting(0, old)] },
      "wait: enough are starting in the cluster",
    ],
    [
      "when its settings are outdated and it does not run, however many are starting in the cluster",
      { startable: 0, pods: [waiting(0, { ...old, ...broken })] },
      "delete 0: its settings are outdated",
    ],
    [
      "when its settings are outdated and it does not run, after earlier ones failed and before others are created",
      { perNode: 2, backOffMs: 7, pods: [waiting(0, { ...old, phase: "pending" })] },
      "delete 0: its settings are outdated",
    ],
    ["not twice", { perNode: 0, pods: [waiting(0, { terminating: true })] }, "nothing"],
  ])("%s", ([, observed, expected]) => {
    expect(decided(observed)).toBe(expected);
  });
});

describe("WM-1 looks again without a change", () => {
  const tenSecondsOld = { createdAt: young };

  it.for<[string, Partial<ObservedNode>, number | undefined]>([
    ["when the scheduler has had its time", { pods: [waiting(0, { ...noRoom, ...tenSecondsOld })] }, 20_000],
    ["when kubelet has had its time", { pods: [waiting(0, { ...broken, ...tenSecondsOld })] }, 290_000],
    ["when the claim of a volume ends", { pods: [waiting(0)], claimEndsMs: 7 }, 7],
    ["when the first of several limits is over", { pods: [], backOffMs: 8000, claimEndsMs: 9000 }, 8000],
    ["never, without a limit", { pods: [waiting(0)] }, undefined],
  ])("%s", ([, observed, expected]) => {
    expect(decide(observedWith(observed)).again?.afterMs).toBe(expected);
  });
});

it.for<[string, Partial<ReportedWaitingPod>, boolean]>([
  ["was just created", {}, true],
  ["runs", { phase: "running" }, false],
  ["cannot start", broken, false],
  ["is being deleted", { terminating: true }, false],
  [
    "is older than a start takes, for example on a node that is not ready",
    { createdAt: new Date(now.getTime() - 60_000) },
    false,
  ],
])("WM-1 counts as starting one that %s: $2", ([, but, expected]) => {
  expect(isStartingUp(now, waiting(0, { phase: "pending", createdAt: young, ...but }))).toBe(expected);
});
