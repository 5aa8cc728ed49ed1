/** Table tests of the decision, part: workloads that move to another Mountpoint Pod (LC-21, LC-24). */
import { describe, expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import type { VolumeId } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { decide } from "./decide.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import {
  attachment,
  mp,
  now,
  ofSecret,
  pod,
  seen,
  summary,
  volume,
  w1,
  w2,
  w3,
  workload,
} from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

const running = [workload(w1, { phase: "running" }), workload(w2, { phase: "running" })];
const asked = pod(mp(w1), { move: { ...noMove, requested: "1" } });
const young = { createdAt: new Date(now.getTime() - 10_000) };
const successor = (but: Partial<ReportedMountpointPod> = {}) =>
  pod(mp(w1, 1), { ...young, move: { ...noMove, replaces: mp(w1) }, ...but });
const prepared = (sources: ObservedAttachment["sources"] = {}) =>
  attachment({ [mp(w1)]: [w1, w2], [mp(w1, 1)]: [] }, { sources });
const serving = { [mp(w1)]: { health: "serving" }, [mp(w1, 1)]: { health: "serving" } } as const;

const problem = (kind: NonNullable<ReportedMountpointPod["problem"]>["kind"]) => ({ kind, cause: "x", fix: "y" });

describe("a move that was requested (LC-21)", () => {
  it.for([
    [
      "begins with a successor that is listed without workloads",
      { mountpointPods: [asked], attachments: [attachment({ [mp(w1)]: [w1, w2] })] },
      ["create w1#1", "rewrite w1#0: w1 w2, w1#1: "],
    ],
    [
      "begins when the volume requests it, too",
      {
        volume: { ...volume, moveRequest: "2" },
        mountpointPods: [pod(mp(w1))],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
      },
      ["create w1#1", "rewrite w1#0: w1 w2, w1#1: "],
    ],
    [
      "is complete for a Mountpoint Pod that was created after the volume requested it",
      {
        volume: { ...volume, moveRequest: "2" },
        mountpointPods: [pod(mp(w1), { move: { ...noMove, fulfils: "2" } })],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
      },
      [],
    ],
    [
      "goes on with the successor of a reconciler that ended before it wrote the attachment",
      { mountpointPods: [asked, successor()], attachments: [attachment({ [mp(w1)]: [w1, w2] })] },
      ["rewrite w1#0: w1 w2, w1#1: "],
    ],
    [
      "replaces a successor that has the settings of before an upgrade",
      {
        mountpointPods: [asked, successor({ settings: "before" })],
        attachments: [prepared(serving)],
      },
      ["annotate w1#1", "create w1#2", "rewrite w1#0: w1 w2, w1#1: , w1#2: "],
    ],
    [
      "waits until the successor serves",
      {
        mountpointPods: [asked, successor()],
        attachments: [prepared({ [mp(w1)]: { health: "serving" }, [mp(w1, 1)]: { health: "starting" } })],
      },
      [],
    ],
    [
      "gives the workloads to the successor once that serves",
      { mountpointPods: [asked, successor()], attachments: [prepared(serving)] },
      ["rewrite w1#0: , w1#1: w1 w2"],
    ],
    [
      "ends with the unmount of the former Mountpoint Pod",
      { mountpointPods: [asked, successor()], attachments: [attachment({ [mp(w1)]: [], [mp(w1, 1)]: [w1, w2] })] },
      ["annotate w1#0", "rewrite w1#1: w1 w2"],
    ],
    [
      "gives workloads that come meanwhile the Mountpoint Pod that serves",
      {
        workloads: [...running, workload(w3)],
        mountpointPods: [asked, successor()],
        attachments: [prepared()],
      },
      ["rewrite w1#0: w1 w2 w3, w1#1: "],
    ],
    [
      "waits for the first mount of a workload",
      {
        workloads: [workload(w1)],
        mountpointPods: [asked],
        attachments: [attachment({ [mp(w1)]: [w1] })],
      },
      [],
    ],
    [
      "is taken back: the successor ends",
      {
        mountpointPods: [pod(mp(w1)), successor()],
        attachments: [prepared(serving)],
      },
      ["annotate w1#1"],
    ],
    [
      "is not needed any more when the workloads end: both Mountpoint Pods end",
      { workloads: [], mountpointPods: [asked, successor()], attachments: [prepared()] },
      ["annotate w1#0", "annotate w1#1", "detach"],
    ],
    [
      "does not hold up workloads whose Mountpoint Pod is being deleted: they get the successor at once",
      {
        mountpointPods: [{ ...asked, terminating: true, deletionAskedAt: new Date(0) }, successor()],
        attachments: [prepared()],
      },
      ["annotate w1#0", "rewrite w1#1: w1 w2"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen({ workloads: running, ...observed })))).toEqual(steps);
  });
});

const movedTo = (observed: Partial<Observed>) =>
  decide(seen(observed)).steps.find(({ do: what }) => what === "annotateForUnmount");

it("says where the workloads of a Mountpoint Pod have moved, and nothing if they have ended", () => {
  const pods = { mountpointPods: [asked, successor()] };
  const moved = { ...pods, workloads: running, attachments: [attachment({ [mp(w1)]: [], [mp(w1, 1)]: [w1, w2] })] };
  expect(movedTo(moved)).toMatchObject({ movedTo: mp(w1, 1) });
  expect(movedTo({ ...pods, workloads: [], attachments: [prepared()] })).toMatchObject({ movedTo: undefined });
});

describe("a move that cannot succeed changes nothing (LC-24)", () => {
  const givenUp = ["report VolumeNotMoved to w1", "report VolumeNotMoved to w2", "give up moving w1#0"];
  const old = { createdAt: new Date(now.getTime() - 400_000) };
  it.for([
    ["its mount-s3 ends", { problem: problem("crashing") }, givenUp],
    ["its mount-s3 ended, and kubelet has started it again", { restarts: 1 }, givenUp],
    ["it is unschedulable for a moment", { problem: problem("unschedulable"), phase: "pending" }, []],
    ["it stays unschedulable", { ...old, problem: problem("unschedulable"), phase: "pending" }, givenUp],
    ["its image cannot be pulled", { ...old, problem: problem("notStarting"), phase: "pending" }, givenUp],
    ["it does not serve", old, givenUp],
  ] as [string, Partial<ReportedMountpointPod>, string[]][])("%s", ([, but, steps]) => {
    const observed = { workloads: running, mountpointPods: [asked, successor(but)], attachments: [prepared()] };
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it("the successor ends, and the request is not repeated", () => {
    const failed = { ...asked, move: { ...asked.move, failed: ["1"] } };
    const observed = { workloads: running, mountpointPods: [failed, successor()], attachments: [prepared(serving)] };
    expect(summary(decide(seen(observed)))).toEqual(["annotate w1#1"]);
  });

  it("a request of the Pod and one of its volume fail together, and do not follow each other for ever", () => {
    const both = { workloads: running, volume: { ...volume, moveRequest: "2" }, attachments: [prepared()] };
    const failing = successor({ problem: problem("crashing") });
    const steps = decide(seen({ ...both, mountpointPods: [asked, failing] })).steps;
    expect(steps.at(-1)).toMatchObject({ do: "annotateFailedMove", requests: ["1", "2"] });
    const failed = { ...asked, move: { ...asked.move, failed: ["1", "2"] } };
    expect(summary(decide(seen({ ...both, mountpointPods: [failed, failing] })))).toEqual([
      "annotate w1#1",
      "rewrite w1#0: w1 w2",
    ]);
  });

  it("waits while an attachment lists a Pod without workloads that the view lacks (SC-7)", () => {
    const notYetObserved = new Set<string>([mp(w1, 1)]);
    const observed = { workloads: running, mountpointPods: [asked], attachments: [prepared()], notYetObserved };
    expect(summary(decide(seen(observed)))).toEqual([]);
  });

  it("another request is tried", () => {
    const again = { ...asked, move: { ...noMove, requested: "2", failed: ["1"] } };
    const observed = { workloads: running, mountpointPods: [again], attachments: [attachment({ [mp(w1)]: [w1, w2] })] };
    expect(summary(decide(seen(observed)))[0]).toBe("create w1#1");
  });

  it.for([
    ["its credentials come from elsewhere", { credentials: ofSecret }],
    ["it is read-only now", { readOnly: true }],
    ["its handle is another one", { volumeId: "other" as VolumeId }],
  ] as const)("refuses a volume that was changed: %s (DS-15)", ([, but]) => {
    const observed = {
      workloads: running,
      volume: { ...volume, ...but },
      mountpointPods: [asked],
      attachments: [attachment({ [mp(w1)]: [w1, w2] })],
    };
    expect(summary(decide(seen(observed)))).toEqual(givenUp);
  });

  it.for([
    ["before it begins", [asked], attachment({ [mp(w1)]: [w1, w2] })],
    ["while its successor starts", [asked, successor()], prepared()],
    ["when its successor serves", [asked, successor()], prepared(serving)],
  ] as const)("is given up where live options are refused: %s (LC-24)", ([, mountpointPods, listed]) => {
    const live = { annotations: {}, refusals: ["the annotation x is ignored: y. Remove it."] };
    const observed = { workloads: running, volume: { ...volume, live }, mountpointPods, attachments: [listed] };
    const { steps } = decide(seen(observed));
    expect(steps.at(-1)).toMatchObject({ do: "annotateFailedMove", because: live.refusals[0] });
    const reports = steps.filter((step) => step.do === "report");
    expect(reports.map(({ reason }) => reason)).toEqual(["VolumeNotMoved", "VolumeNotMoved"]);
    expect(reports[0]?.because).toContain("works as before: the annotation x is ignored: y. Remove it.");
  });

  it.for([
    ["with the options of its attachment moves", {}, "create w1#1"],
    ["and a volume that is read-only moves", { readOnly: true }, "create w1#1"],
    [
      "with other options does not, because they are not recorded",
      { mountOptions: ["prefix=b/"] },
      "give up moving w1#0",
    ],
  ] as const)("a Mountpoint Pod of 2.x %s (DS-15)", ([, but, step]) => {
    const ofOldDriver = { ...asked, identity: undefined, volumeId: undefined, driverVersion: "2.1.1" };
    const observed = {
      workloads: running,
      volume: { ...volume, ...but },
      mountpointPods: [ofOldDriver],
      attachments: [attachment({ [mp(w1)]: [w1, w2] })],
    };
    expect(summary(decide(seen(observed)))).toContain(step);
  });

  it("decides again when the time of the successor is over", () => {
    const observed = { workloads: running, mountpointPods: [asked, successor()], attachments: [prepared()] };
    expect(decide(seen(observed)).again).toMatchObject({ afterMs: 290_000 });
  });
});
