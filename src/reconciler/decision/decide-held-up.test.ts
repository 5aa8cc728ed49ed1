/** Table tests of the decision: Mountpoint Pods that have never run, because of settings that an upgrade has changed since. */
import { describe, expect, it } from "vitest";
import type { ReportedSource } from "../../core/attachment-status.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, mp, now, pod, seen, summary, w1, w2, workload } from "./situation.fixture.ts";

const idle = (source: ReportedSource) => [attachment({ [mp(w1)]: [] }, { sources: { [mp(w1)]: source } })];

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

describe.for([
  { kind: "notStarting", reason: "MountpointPodNotStarting" },
  { kind: "unschedulable", reason: "MountpointPodUnschedulable" },
] as const)("a Mountpoint Pod that is $kind (LC-2)", ({ kind, reason }) => {
  const problem = { kind, cause: `is ${kind}`, fix: "Mend it." };
  const held = { phase: "pending", scheduled: kind === "notStarting", problem } as const;
  const former = pod(mp(w1), { ...held, settings: "before an upgrade" });
  const attachments = [attachment({ [mp(w1)]: [w1] })];
  const serving = attachment({ [mp(w1)]: [w1] }, { sources: { [mp(w1)]: { health: "serving" } } });

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
      "with settings of before an upgrade keeps its workloads where its node reports a mount: it serves",
      { workloads: [workload(w1, { phase: "running" })], attachments: [serving], mountpointPods: [former] },
      [`report ${reason} to w1`],
    ],
    [
      "with settings of before an upgrade keeps its workloads once its own container has started",
      {
        workloads: [workload(w1, { phase: "running" })],
        attachments,
        mountpointPods: [{ ...former, phase: "running" }],
      },
      [`report ${reason} to w1`],
    ],
    [
      "with settings of before an upgrade loses a workload where its node reports that nothing is mounted",
      {
        workloads: [workload(w1)],
        attachments: [attachment({ [mp(w1)]: [w1] }, { sources: { [mp(w1)]: { health: "absent" } } })],
        mountpointPods: [former],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
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

describe("LC-1, LC-2 a Mountpoint Pod whose mount-s3 has ended and cannot be started again", () => {
  const problem = {
    kind: "notRestarting",
    cause: "does not start: its image cannot be pulled",
    fix: "Mend it.",
  } as const;
  const sources = { [mp(w1)]: { health: "dead" } } as const;
  const attachments = [attachment({ [mp(w1)]: [w1] }, { sources })];

  it.for([
    [
      "loses a running workload",
      { workloads: [workload(w1, { phase: "running" })], attachments, mountpointPods: [pod(mp(w1), { problem })] },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "loses one that waits once its settings are outdated",
      {
        workloads: [workload(w1)],
        attachments,
        mountpointPods: [pod(mp(w1), { problem, settings: "before an upgrade" })],
      },
      ["create w1#1", "rewrite w1#0: , w1#1: w1"],
    ],
    [
      "keeps one that waits where another one would be the same",
      { workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1), { problem })] },
      ["report MountpointPodNotStarting to w1"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });
});

describe("DS-14 a Mountpoint Pod whose container has started, as far as its node reports, and not yet as far as kubelet does", () => {
  const needsUnmount = { needsUnmount: true, needsUnmountSince: now };
  const tenMinutesAgo = new Date(now.getTime() - 600_000);

  it.for([
    [
      "stays listed while its node unmounts it",
      { attachments: idle({ health: "serving" }), mountpointPods: [pod(mp(w1), { phase: "pending" })] },
      ["annotate w1#0"],
    ],
    [
      "is not deleted while it is in use, however long that takes",
      {
        attachments: idle({ health: "serving", inUse: true }),
        mountpointPods: [pod(mp(w1), { phase: "pending", needsUnmount: true, needsUnmountSince: tenMinutesAgo })],
      },
      [],
    ],
    [
      "is not deleted while its mount is there",
      {
        attachments: idle({ health: "serving", inUse: false }),
        mountpointPods: [pod(mp(w1), { phase: "pending", ...needsUnmount })],
      },
      [],
    ],
    [
      "leaves the attachment once nothing is mounted",
      {
        attachments: idle({ health: "absent", inUse: false }),
        mountpointPods: [pod(mp(w1), { phase: "pending", ...needsUnmount })],
      },
      ["detach"],
    ],
    ["is deleted then", { mountpointPods: [pod(mp(w1), { phase: "pending", ...needsUnmount })] }, ["delete w1#0"]],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });
});
