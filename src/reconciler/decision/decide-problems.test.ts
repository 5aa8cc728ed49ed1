/** Table tests of the decision, part 3: Mountpoint Pods with a problem, and the statuses of attachments. */
import { describe, expect, it } from "vitest";
import type { PodName, PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { PodProblem } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
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
      "that is unschedulable gets no further workload, and its own gets an event",
      { workloads: [workload(w1), workload(w2)], attachments, mountpointPods: [pod(mp(w1), noRoom)] },
      ["report MountpointPodUnschedulable to w1", "create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "that is unschedulable loses its workloads to a scheduled one, and is annotated only after that",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1), noRoom), pod(mp(w2))],
      },
      ["rewrite w1#0: , w2#0: w2 w1"],
    ],
    [
      "that is unschedulable keeps its workloads while the other one is not scheduled yet",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1), noRoom), pod(mp(w2), { phase: "pending", scheduled: false })],
      },
      ["report MountpointPodUnschedulable to w1"],
    ],
    [
      "that is unschedulable keeps its workloads while another one is only being created",
      { workloads: [workload(w2), workload(w1)], attachments, mountpointPods: [pod(mp(w1), noRoom)] },
      ["report MountpointPodUnschedulable to w1", "create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "that is unschedulable and has no attachment still goes to the workload it was created for (LC-5)",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1), { ...noRoom, createdAt: now })] },
      ["report MountpointPodUnschedulable to w1", "attach w1#0: w1"],
    ],
    [
      "whose container is down gets no further workload",
      {
        workloads: [running, workload(w2)],
        attachments,
        mountpointPods: [pod(mp(w1), { problem: problem("crashing") })],
      },
      ["create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "of another version whose container is down is replaced: the node plugin does not send options to it again",
      {
        workloads: [running],
        attachments,
        mountpointPods: [pod(mp(w1), { problem: problem("crashing"), driverVersion: "2.1.1" })],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container is in back-off is replaced, and annotated only after that",
      { workloads: [running], attachments, mountpointPods: [backingOff] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container is in back-off is annotated once its workloads have another one",
      {
        workloads: [running],
        attachments: [attachment({ [mp(w1)]: [], [mp(w1, 1)]: [w1] })],
        mountpointPods: [backingOff, pod(mp(w1, 1))],
      },
      ["annotate w1#0", "rewrite w1#1: w1"],
    ],
    [
      "whose container is in back-off keeps workloads without a mount: its status explains their wait",
      { workloads: [workload(w1)], attachments, mountpointPods: [backingOff] },
      [],
    ],
    [
      "whose container is in back-off loses workloads without a mount to one that is ready",
      {
        workloads: [running, workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w2], [mp(w1, 1)]: [w1] })],
        mountpointPods: [backingOff, pod(mp(w1, 1))],
      },
      ["rewrite w1#0: , w1#1: w1 w2"],
    ],
    [
      "of another version whose container is in back-off is replaced also for workloads without a mount",
      { workloads: [workload(w1)], attachments, mountpointPods: [{ ...backingOff, driverVersion: "2.1.1" }] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is annotated under a running workload, and whose container is down, is replaced: the node plugin does not mount in it again",
      {
        workloads: [running],
        attachments,
        mountpointPods: [pod(mp(w1), { needsUnmount: true, problem: problem("crashing") })],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is annotated before its workload is mounted is replaced: the node plugin mounts nothing in it",
      { workloads: [workload(w1)], attachments, mountpointPods: [annotated(0)] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is stuck is replaced, and annotated only after that",
      {
        workloads: [running],
        attachments: attachments.map((one) => ({ ...one, stuck: [mp(w1)] })),
        mountpointPods: [pod(mp(w1))],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "whose container exited with code 0 is replaced before its phase is Succeeded (LC-13)",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { problem: problem("ended") })] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "that is annotated, and whose container exited with code 0, is left alone: kubelet is about to report Succeeded",
      { mountpointPods: [{ ...annotated(119_000), problem: problem("ended") }] },
      [],
    ],
    [
      "that is annotated, and whose container exited with code 0, is deleted after a while although a sidecar keeps running",
      { mountpointPods: [{ ...annotated(120_000), problem: problem("ended") }] },
      ["delete w1#0"],
    ],
    ["that is annotated gets time for the unmount", { mountpointPods: [annotated(599_000)] }, []],
    [
      "that is being deleted is replaced for a workload that stays",
      { workloads: [running], attachments, mountpointPods: [leaving(5000)] },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    [
      "that is being deleted together with its workload is not replaced",
      { workloads: [{ ...running, terminating: true }], attachments, mountpointPods: [leaving(5000)] },
      [],
    ],
    [
      "that is being deleted keeps the workloads that are being deleted, while the others get another one",
      {
        workloads: [{ ...running, terminating: true }, workload(w2, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
        mountpointPods: [leaving(5000)],
      },
      ["create w2#0", "rewrite w1#0: w1, w2#0: w2"],
    ],
    [
      "that is annotated, and whose container has failed, is deleted: it would never be Succeeded",
      { mountpointPods: [pod(mp(w1), { needsUnmount: true, problem: problem("crashing") })] },
      ["delete w1#0"],
    ],
    [
      "that is annotated, and whose container is in back-off, is deleted: it must not restart while its successor runs",
      { mountpointPods: [{ ...backingOff, needsUnmount: true }] },
      ["delete w1#0"],
    ],
    [
      "that does not start causes an event on its workloads",
      { workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1), { problem: problem("notStarting") })] },
      ["report MountpointPodNotStarting to w1"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it("that is being deleted is not replaced at once: a drain deletes its workloads within seconds", () => {
    const decision = decide(seen({ workloads: [running], attachments, mountpointPods: [leaving(2000)] }));
    expect(decision).toMatchObject({ steps: [], again: { afterMs: 3000 } });
  });
});

it("successors whose containers back off are created at growing intervals, and none of them is left over", () => {
  const model = new VolumeOnNodeModel();
  model.come(w1, { fsGroup: "" });
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

/** Time passes only while the reconciler waits. */
function settle(model: VolumeOnNodeModel): void {
  do model.deliverAll();
  while (!model.reconcile());
}

function annotated(sinceMs: number): ReportedMountpointPod {
  return pod(mp(w1), { needsUnmount: true, needsUnmountSince: new Date(now.getTime() - sinceMs) });
}

function leaving(sinceMs: number): ReportedMountpointPod {
  const deletionAskedAt = new Date(now.getTime() - sinceMs);
  return pod(mp(w1), { terminating: true, deletionAskedAt, problem: problem("leaving") });
}

describe("a running workload that is missing in the list of its sharers (LC-9)", () => {
  const listed = { attachments: [attachment({ [mp(w2)]: [w2] })], mountpointPods: [pod(mp(w2))] };
  it.for([
    ["is listed again where it started after the attachment was written", longAgo, ["rewrite w2#0: w2 w1"]],
    ["is left alone where it started before: v1 may have mounted it", "2026-01-15T09:59:59Z", []],
    ["is left alone where its start time is not known", undefined, []],
  ] as const)("%s", ([, startedAt, steps]) => {
    const workloads = [{ ...running, startedAt }, workload(w2, { phase: "running" })];
    expect(summary(decide(seen({ workloads, ...listed })))).toEqual(steps);
  });
});

it("live options that are refused cause an event on each workload, and the volume is served without them", () => {
  const live = { annotations: {}, refusals: ["the annotation x is ignored: y. Remove it."] };
  const { steps } = decide(seen({ volume: { ...volume, live }, workloads: [workload(w1), workload(w2)] }));
  const because = "PersistentVolume data: the annotation x is ignored: y. Remove it.";
  const report = { do: "reportVolume", reason: "LiveOptionsRefused", because };
  expect(steps).toMatchObject([report, report, { do: "createMountpointPod" }, { do: "createAttachment" }]);
});

it("two volumes with one handle cause an event on workloads without a mount", () => {
  const sameHandle = ["other" as PvName];
  const observed = seen({ workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1))], sameHandle });
  const { steps } = decide(observed);
  expect(steps).toMatchObject([{ do: "reportVolume", reason: "VolumeHandleShared" }]);
  expect(steps[0]?.because).toMatch(/PersistentVolume data has the same csi\.volumeHandle as other/);
});

describe("the status of an attachment", () => {
  const workloads = [workload(w1)];
  const statusOf = (but: Partial<ReportedMountpointPod>, more: Partial<Observed> = {}) =>
    newStatuses(seen({ workloads, attachments, mountpointPods: [pod(mp(w1), but)], ...more })).map(
      ({ status }) => status,
    );

  it("is not written before the scheduler has decided", () => {
    expect(statusOf({ phase: "pending", scheduled: false })).toEqual([]);
  });

  it("is written once: an equal status is not written again", () => {
    const [status] = statusOf({});
    expect(status?.mountpointPods).toEqual({ [mp(w1)]: { version: "3.0.0", phase: "Running", restarts: 0 } });
    const written = attachments.map((each) => ({ ...each, ...(status !== undefined && { status }) }));
    expect(statusOf({}, { attachments: written, now: new Date(now.getTime() + 60_000) })).toEqual([]);
    expect(statusOf({ restarts: 1 }, { attachments: written })).toHaveLength(1);
  });

  it("is not written before every listed Mountpoint Pod is observed", () => {
    const both = [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })];
    const notYetObserved = new Set([mp(w2)]);
    expect(statusOf({}, { attachments: both, notYetObserved })).toEqual([]);
    expect(statusOf({}, { attachments: both })).toHaveLength(1);
  });

  it.for([
    ["True", "True", {}],
    ["True", "False", noRoom],
    ["False", "True", { phase: "failed", problem: problem("ended") }],
  ] as const)("has the conditions Assigned %s and Scheduled %s", ([assigned, scheduled, but]) => {
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
  ] as const)("reports a missing Mountpoint Pod whose volume %s", ([, of, message]) => {
    const [found] = newStatuses(seen({ workloads: [running], attachments, volume: of }));
    expect(found?.status.conditions?.[0]).toMatchObject({ type: "Assigned", status: "False" });
    expect(found?.status.conditions?.[0]?.message).toMatch(message);
    expect(found?.status.mountpointPods?.[mp(w1)]?.phase).toBe("Missing");
  });
});
