/** The third part of the tests of the decision: Mountpoint Pods with which something is wrong, and what is said of them. */
import { describe, expect, it } from "vitest";
import type { PodName, PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { PodProblem } from "../domain/mountpoint-pod-report.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { newStatuses } from "./new-statuses.ts";
import { attachment, longAgo, mp, now, pod, seen, summary, volume, w1, w2, workload } from "./situation.fixture.ts";
import { VolumeOnNodeModel } from "./volume-on-node-model.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

const problem = (kind: PodProblem["kind"]): PodProblem => ({ kind, cause: `is ${kind}`, fix: "Mend it." });
const noRoom: Partial<ReportedMountpointPod> = {
  phase: "pending",
  scheduled: false,
  problem: problem("unschedulable"),
};
const running = workload(w1, { phase: "running" });
const backingOff = pod(mp(w1), { problem: problem("backingOff") });
const attachments = [attachment({ [mp(w1)]: [w1] })];

describe("a Mountpoint Pod (LC-2)", () => {
  it.for([
    [
      "without a place gets no newcomer, and both are told",
      { workloads: [workload(w1), workload(w2)], attachments, mountpointPods: [pod(mp(w1), noRoom)] },
      ["report MountpointPodUnschedulable to w1", "create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "without a place loses its workloads to one that has a place, and is marked only after that",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1), noRoom), pod(mp(w2))],
      },
      ["rewrite w1#0: , w2#0: w2 w1"],
    ],
    [
      "without a place keeps its workloads while another one is yet to be scheduled",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1), noRoom), pod(mp(w2), { phase: "pending", scheduled: false })],
      },
      ["report MountpointPodUnschedulable to w1"],
    ],
    [
      "without a place and without an attachment is still that of the workload it was made for (LC-5)",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1), { ...noRoom, createdAt: now })] },
      ["report MountpointPodUnschedulable to w1", "attach w1#0: w1"],
    ],
    [
      "whose container is down gets no newcomer",
      {
        workloads: [running, workload(w2)],
        attachments,
        mountpointPods: [pod(mp(w1), { problem: problem("crashing") })],
      },
      ["create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "of another version whose container is down is replaced: nobody talks to it any more",
      {
        workloads: [running],
        attachments,
        mountpointPods: [pod(mp(w1), { problem: problem("crashing"), driverVersion: "2.1.1" })],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container is in back-off is replaced, and marked only after that",
      { workloads: [running], attachments, mountpointPods: [backingOff] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container is in back-off is marked when its workloads have been given to another one",
      {
        workloads: [running],
        attachments: [attachment({ [mp(w1)]: [], [mp(w1, 1)]: [w1] })],
        mountpointPods: [backingOff, pod(mp(w1, 1))],
      },
      ["annotate w1#0", "rewrite w1#1: w1"],
    ],
    [
      "whose container is in back-off keeps those that are yet to be mounted: its words are their explanation",
      { workloads: [workload(w1)], attachments, mountpointPods: [backingOff] },
      [],
    ],
    [
      "whose container is in back-off loses also those that are yet to be mounted to one that is ready",
      {
        workloads: [running, workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w2], [mp(w1, 1)]: [w1] })],
        mountpointPods: [backingOff, pod(mp(w1, 1))],
      },
      ["rewrite w1#0: , w1#1: w1 w2"],
    ],
    [
      "of another version whose container is in back-off is replaced also for those that are yet to be mounted",
      { workloads: [workload(w1)], attachments, mountpointPods: [{ ...backingOff, driverVersion: "2.1.1" }] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is marked under a running workload, and whose container is down, is replaced: the node does not mount there again",
      {
        workloads: [running],
        attachments,
        mountpointPods: [pod(mp(w1), { needsUnmount: true, problem: problem("crashing") })],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is stuck is replaced, and marked only after that",
      {
        workloads: [running],
        attachments: attachments.map((one) => ({ ...one, stuck: [mp(w1)] })),
        mountpointPods: [pod(mp(w1))],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container has ended well is replaced without waiting until it is Succeeded (LC-13)",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { problem: problem("ended") })] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is marked, and whose container has ended well, is left to kubelet, which calls it Succeeded in a moment",
      { mountpointPods: [{ ...marked(119_000), problem: problem("ended") }] },
      [],
    ],
    [
      "that is marked, and whose container has ended well, is deleted after a while also where another container runs on",
      { mountpointPods: [{ ...marked(120_000), problem: problem("ended") }] },
      ["delete w1#0"],
    ],
    ["that is marked is left to its node for a while", { mountpointPods: [marked(599_000)] }, []],
    [
      "that is being deleted under a workload that stays is replaced",
      { workloads: [running], attachments, mountpointPods: [leaving(5000)] },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    [
      "that is being deleted together with its workload is not",
      { workloads: [{ ...running, terminating: true }], attachments, mountpointPods: [leaving(5000)] },
      [],
    ],
    [
      "that is being deleted keeps those that are, too, while others get another one",
      {
        workloads: [{ ...running, terminating: true }, workload(w2, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
        mountpointPods: [leaving(5000)],
      },
      ["create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "that is marked, and whose container has failed, is deleted: it would never end well",
      { mountpointPods: [pod(mp(w1), { needsUnmount: true, problem: problem("crashing") })] },
      ["delete w1#0"],
    ],
    [
      "that is marked, and whose container is in back-off, is deleted: it must not come back beside its successor",
      { mountpointPods: [{ ...backingOff, needsUnmount: true }] },
      ["delete w1#0"],
    ],
    [
      "that does not start is told to its workloads",
      { workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1), { problem: problem("notStarting") })] },
      ["report MountpointPodNotStarting to w1"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it("that is being deleted is not replaced at once: in a drain its workloads follow within moments", () => {
    const decision = decide(seen({ workloads: [running], attachments, mountpointPods: [leaving(2000)] }));
    expect(decision).toMatchObject({ steps: [], again: { afterMs: 3000 } });
  });
});

it("successors whose containers back off, too, follow each other further and further apart, and none is left", () => {
  const model = new VolumeOnNodeModel();
  model.come(w1, "");
  settle(model);
  model.put("workloads", w1, running);
  const pauses: number[] = [];
  for (let death = 1; death <= 12; death += 1) {
    const [holder] = model.holdersOf(w1) as [PodName];
    const bornAt = model.now.getTime();
    model.change(holder, { phase: "running", scheduled: true, problem: problem("backingOff") });
    settle(model);
    pauses.push((model.now.getTime() - bornAt) / 1000);
    expect(model.holdersOf(w1)).not.toContain(holder);
    expect([...model.truth.mountpointPods.keys()]).toEqual(model.holdersOf(w1));
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
});

/** Time passes only as far as the reconciler waits. */
function settle(model: VolumeOnNodeModel): void {
  do model.deliverAll();
  while (!model.reconcile());
}

function marked(sinceMs: number): ReportedMountpointPod {
  return pod(mp(w1), { needsUnmount: true, needsUnmountSince: new Date(now.getTime() - sinceMs) });
}

function leaving(sinceMs: number): ReportedMountpointPod {
  const deletionAskedAt = new Date(now.getTime() - sinceMs);
  return pod(mp(w1), { terminating: true, deletionAskedAt, problem: problem("leaving") });
}

describe("a running workload that is missing in the list of its sharers (LC-9)", () => {
  const listed = { attachments: [attachment({ [mp(w2)]: [w2] })], mountpointPods: [pod(mp(w2))] };
  it.for([
    ["gets its line back where it started after the attachment was written", longAgo, ["rewrite w2#0: w2 w1"]],
    ["is left alone where it started before: then it may be of v1", "2026-01-15T09:59:59Z", []],
    ["is left alone where nobody knows when it started", undefined, []],
  ] as const)("%s", ([, startedAt, steps]) => {
    const workloads = [{ ...running, startedAt }, workload(w2, { phase: "running" })];
    expect(summary(decide(seen({ workloads, ...listed })))).toEqual(steps);
  });
});

it("two volumes with one handle are told to workloads that are to be mounted", () => {
  const sameHandle = ["other" as PvName];
  const observed = seen({ workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1))], sameHandle });
  const { steps } = decide(observed);
  expect(steps).toMatchObject([{ do: "report", reason: "VolumeHandleShared" }]);
  expect(steps[0]?.because).toMatch(/PersistentVolume data has the same csi\.volumeHandle as other/);
});

describe("the status of an attachment", () => {
  const workloads = [workload(w1)];
  const statusOf = (but: Partial<ReportedMountpointPod>, more: Partial<Observed> = {}) =>
    newStatuses(seen({ workloads, attachments, mountpointPods: [pod(mp(w1), but)], ...more })).map(
      ({ status }) => status,
    );

  it("is not written before the scheduler has spoken", () => {
    expect(statusOf({ phase: "pending", scheduled: false })).toEqual([]);
  });

  it("is written once: what is there already is not written again", () => {
    const [status] = statusOf({});
    expect(status?.mountpointPods).toEqual({ [mp(w1)]: { version: "3.0.0", phase: "Running", restarts: 0 } });
    const written = attachments.map((each) => ({ ...each, ...(status !== undefined && { status }) }));
    expect(statusOf({}, { attachments: written, now: new Date(now.getTime() + 60_000) })).toEqual([]);
    expect(statusOf({ restarts: 1 }, { attachments: written })).toHaveLength(1);
  });

  it("waits until every Mountpoint Pod that is listed has been heard of", () => {
    const both = [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })];
    const notYetObserved = new Map([[mp(w2), new Date(now.getTime() + 1000)]]);
    expect(statusOf({}, { attachments: both, notYetObserved })).toEqual([]);
    expect(statusOf({}, { attachments: both })).toHaveLength(1);
  });

  it.for([
    ["True", "True", {}],
    ["True", "False", noRoom],
    ["False", "True", { phase: "failed", problem: problem("ended") }],
  ] as const)("says Assigned %s and Scheduled %s", ([assigned, scheduled, but]) => {
    const conditions = statusOf(but)[0]?.conditions?.map(({ type, status }) => [type, status]);
    expect(conditions).toEqual([
      ["Assigned", assigned],
      ["Scheduled", scheduled],
    ]);
  });

  it.for([
    ["is gone", undefined, /while its PersistentVolume does not exist/],
    [
      "is refused",
      { name: volume.name, refused: "PersistentVolume data: no bucket." },
      /cannot be replaced\. PersistentVolume data: no/,
    ],
    ["can be served", volume, /get another one/],
  ] as const)("tells that a Mountpoint Pod is missing, where its volume %s", ([, of, message]) => {
    const [found] = newStatuses(seen({ workloads: [running], attachments, volume: of }));
    expect(found?.status.conditions?.[0]).toMatchObject({ type: "Assigned", status: "False" });
    expect(found?.status.conditions?.[0]?.message).toMatch(message);
    expect(found?.status.mountpointPods?.[mp(w1)]?.phase).toBe("Missing");
  });
});
