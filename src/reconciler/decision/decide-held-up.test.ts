/** Table tests of the decision: Mountpoint Pods that have never run, because of settings that an upgrade has changed since. */
import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, mp, pod, seen, summary, w1, w2, workload } from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

describe.for([
  { kind: "notStarting", reason: "MountpointPodNotStarting" },
  { kind: "unschedulable", reason: "MountpointPodUnschedulable" },
] as const)("a Mountpoint Pod that is $kind (LC-2)", ({ kind, reason }) => {
  const problem = { kind, cause: `is ${kind}`, fix: "Mend it." };
  const held = { phase: "pending", scheduled: kind === "notStarting", problem } as const;
  const former = pod(mp(w1), { ...held, settings: "before an upgrade" });
  const attachments = [attachment({ [mp(w1)]: [w1] })];

  it.for([
    [
      "with settings of before an upgrade loses workloads without a mount to one with those of now",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
        mountpointPods: [former],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1 w2"],
    ],
    [
      "with settings of before an upgrade loses a workload whose mount has died before it",
      { workloads: [workload(w1, { phase: "running" })], attachments, mountpointPods: [former] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "with settings of before an upgrade keeps a workload that is being deleted",
      { workloads: [workload(w1, { terminating: true })], attachments, mountpointPods: [former] },
      [`report ${reason} to w1`],
    ],
    [
      "keeps its workloads where another one would be the same",
      { workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1), held)] },
      [`report ${reason} to w1`],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });
});
