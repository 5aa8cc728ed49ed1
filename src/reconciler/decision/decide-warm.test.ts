/** WM-1. Mountpoint Pods that wait for a volume: who takes one, and what is written about it. */
import { describe, expect, it } from "vitest";
import { type NodeName, type PodName, warmPodName } from "../../core/names.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, mp, node, now, pod, seen, summary, volume, w1, w2, w3, workload } from "./situation.fixture.ts";

const [a, b] = [0, 1].map((number) => warmPodName("term", node, number)) as [PodName, PodName];
const taken = (but: Partial<Parameters<typeof pod>[1]> = {}) => pod(a, { createdFor: w1, ...but });
const free = (...names: readonly PodName[]) => names.map((name) => ({ name, claimedFor: undefined }));
const ownAttachment = attachment({}).metadata.name;
const short = (steps: readonly string[]) => steps.map((step) => step.replaceAll(a, "A").replaceAll(b, "B"));
const stepsOf = (observed: Partial<Observed>) => short(summary(decide(seen(observed))));

describe("WM-1 a workload without a Mountpoint Pod", () => {
  it.for([
    ["gets the one that waits, with one write", { workloads: [workload(w1)], waiting: free(a, b) }, ["attach A: w1"]],
    [
      "shares it with others of the volume",
      { workloads: [workload(w1), workload(w2)], waiting: free(a, b) },
      ["attach A: w1 w2"],
    ],
    [
      "with another fsGroup takes the next",
      { workloads: [workload(w1), workload(w2, { fsGroup: "7" })], waiting: free(a, b) },
      ["attach A: w1", "attach B: w2"],
    ],
    [
      "with another fsGroup leaves the one whose attachment may be on its way",
      {
        workloads: [workload(w2, { fsGroup: "7" }), workload(w1)],
        waiting: [{ name: a, claimedFor: ownAttachment }, ...free(b)],
      },
      ["attach B: w2", "attach A: w1"],
    ],
    [
      "gets no Mountpoint Pod that is claimed for another attachment of the volume",
      { workloads: [workload(w2, { fsGroup: "7" })], waiting: [{ name: a, claimedFor: ownAttachment }] },
      ["create w2#0", "attach w2#0: w2"],
    ],
    [
      "beyond those that wait gets its own",
      { workloads: [workload(w1), workload(w2, { fsGroup: "7" })], waiting: free(a) },
      ["attach A: w1", "create w2#0", "attach w2#0: w2"],
    ],
    [
      "shares one that serves rather than take one that waits",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
        waiting: free(a),
      },
      ["rewrite w1#0: w1 w2"],
    ],
    [
      "whose volume's Mountpoint Pod is closed takes one into the same attachment",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1), { noNewWorkload: true })],
        waiting: free(a),
      },
      ["rewrite w1#0: w1, A: w2"],
    ],
    [
      "with headroom gets its own, which preempts the headroom Pod",
      { workloads: [workload(w1)], waiting: free(a), reserved: new Set([w1]) },
      ["create w1#0", "attach w1#0: w1"],
    ],
    [
      "for which one was created before a crash gets that",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1))], waiting: free(a) },
      ["attach w1#0: w1"],
    ],
    [
      "of a volume that is refused takes none",
      { workloads: [workload(w1)], waiting: free(a), volume: { name: volume.name, refused: "no" } },
      ["report VolumeInvalid to w1"],
    ],
  ] as [string, Partial<Observed>, readonly string[]][])("%s", ([, observed, steps]) => {
    expect(stepsOf(observed).map((step) => step.replace(/^report \w+/, "report VolumeInvalid"))).toEqual(steps);
  });

  it("whose Mountpoint Pod has died gets a successor of its own, so that a broken volume does not use up those that wait", () => {
    const attachments = [attachment({ [a]: [w1] })];
    const dead = taken({ phase: "succeeded" });
    expect(stepsOf({ workloads: [workload(w1)], attachments, mountpointPods: [dead], waiting: free(b) })).toContain(
      "create w1#0",
    );
  });
});

describe("WM-1 a Mountpoint Pod that an attachment lists, and whose labels do not say so yet", () => {
  const unlabelled = new Set([a]);
  const attachments = [attachment({ [a]: [w1] })];
  it.for([
    ["gets them", { workloads: [workload(w1)], attachments, mountpointPods: [taken()], unlabelled }, ["label A"]],
    [
      "gets them also when its PersistentVolume is gone",
      { workloads: [workload(w1)], attachments, mountpointPods: [taken()], unlabelled, volume: undefined },
      ["label A"],
    ],
    [
      "takes further workloads of its volume meanwhile",
      { workloads: [workload(w1), workload(w2)], attachments, mountpointPods: [taken()], unlabelled, waiting: free(b) },
      ["label A", "rewrite A: w1 w2"],
    ],
    [
      "whose workload has left gets them before it is to be unmounted",
      { attachments, mountpointPods: [taken()], unlabelled },
      ["label A", "annotate A", "detach"],
    ],
  ] as [string, Partial<Observed>, readonly string[]][])("%s", ([, observed, steps]) => {
    expect(stepsOf(observed)).toEqual(steps);
  });

  it("that has ended gets them first, and its workload a successor", () => {
    const steps = stepsOf({
      workloads: [workload(w1)],
      attachments,
      mountpointPods: [taken({ phase: "succeeded" })],
      unlabelled,
    });
    expect(steps[0]).toBe("label A");
    expect(steps).toContain("create w1#0");
  });
});

it("WM-1 one with labels ends like any other when its workload is gone", () => {
  const attachments = [attachment({ [a]: [w1] })];
  expect(stepsOf({ attachments, mountpointPods: [taken()] })).toEqual(["annotate A", "detach"]);
});

it("WM-1 a lost attachment is written again for a running workload", () => {
  const running = workload(w1, { phase: "running" });
  expect(stepsOf({ workloads: [running], mountpointPods: [taken()] })).toEqual(["attach A: w1"]);
});

it("WM-1 decides the same for a volume on a node where none wait as without the feature", () => {
  const nowhere = { workloads: [workload(w1), workload(w3)], node: "elsewhere" as NodeName, now };
  expect(stepsOf(nowhere)).toEqual(["create w1#0", "attach w1#0: w1 w3"]);
});
