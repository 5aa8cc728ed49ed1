/** Table tests of the decision, part 2: how workloads, attachments and Mountpoint Pods end. */
import { describe, expect, it } from "vitest";
import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, longAgo, mp, now, pod, seen, summary, volume, w1, w2, w3, workload } from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

describe("several attachments with one key become the oldest of them (LC-7)", () => {
  const running = [workload(w1, { phase: "running" }), workload(w2, { phase: "running" })];
  const mountpointPods = [pod(mp(w1)), pod(mp(w2))];
  const [older, younger] = [{ name: "s3pa-a" }, { name: "s3pa-b" }];
  it.for([
    [
      "the oldest takes over the lists of the others, which are deleted after that",
      { attachments: [attachment({ [mp(w2)]: [w2] }, younger), attachment({ [mp(w1)]: [w1] }, older)] },
      ["rewrite w1#0: w1, w2#0: w2", "detach"],
    ],
    [
      "duplicates that list nothing else are deleted",
      {
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] }, older), attachment({ [mp(w2)]: [w2] }, younger)],
      },
      ["detach"],
    ],
    [
      "a workload that two of them list stays with the Mountpoint Pod in the oldest",
      { attachments: [attachment({ [mp(w1)]: [w1, w2] }, older), attachment({ [mp(w2)]: [w2] }, younger)] },
      ["annotate w2#0", "detach"],
    ],
    [
      "a new workload waits until the duplicates are merged",
      {
        workloads: [...running, workload(w3)],
        mountpointPods: mountpointPods.map((each) => ({ ...each, noNewWorkload: true })),
        attachments: [attachment({ [mp(w1)]: [w1] }, older), attachment({ [mp(w2)]: [w2] }, younger)],
      },
      ["rewrite w1#0: w1, w2#0: w2", "detach"],
    ],
    [
      "attachments with other mount options stay",
      {
        attachments: [
          attachment({ [mp(w1)]: [w1] }, older),
          attachment({ [mp(w2)]: [w2] }, { ...younger, mountOptions: "former" }),
        ],
      },
      [],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen({ workloads: running, mountpointPods, ...observed })))).toEqual(steps);
  });
});

describe("a workload that ends", () => {
  it.for([
    [
      "leaves its sharers alone",
      {
        workloads: [workload(w2, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1, w2] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w2"],
    ],
    [
      "was the last: first the annotation, then the attachment (DS-7)",
      { attachments: [attachment({ [mp(w1)]: [w1] })], mountpointPods: [pod(mp(w1))] },
      ["annotate w1#0", "detach"],
    ],
    [
      "was the last of one of two Mountpoint Pods",
      {
        workloads: [workload(w2, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1)), pod(mp(w2))],
      },
      ["annotate w1#0", "rewrite w2#0: w2"],
    ],
    [
      "has finished, though its object is still there",
      {
        workloads: [workload(w1, { phase: "finished" })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["annotate w1#0", "detach"],
    ],
    [
      "is still terminating, and may still write (DS-8)",
      {
        workloads: [workload(w1, { phase: "running", terminating: true })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      [],
    ],
    [
      "is being deleted before kubelet has reported a container: one may run (DS-14)",
      {
        workloads: [workload(w1, { phase: "pending", terminating: true })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      [],
    ],
    [
      "is being deleted before kubelet has reported a container, and gets no successor of a Mountpoint Pod that has ended",
      {
        workloads: [workload(w1, { phase: "pending", terminating: true })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
      },
      [],
    ],
    [
      "is released although the volume was edited or is gone (LC-10)",
      {
        volume: undefined,
        attachments: [attachment({ [mp(w1)]: [w1] }, { mountOptions: "former", name: "s3pa-of-2-x" })],
        mountpointPods: [pod(mp(w1))],
      },
      ["annotate w1#0", "detach"],
    ],
    ["leaves a Mountpoint Pod that is gone", { attachments: [attachment({ [mp(w1)]: [w1] })] }, ["detach"]],
    [
      "was released by a reconciler that ended right after the annotation",
      {
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1), { needsUnmount: true, needsUnmountSince: now })],
      },
      ["detach"],
    ],
    [
      "is listed in a duplicate attachment, too, where another uses the same Mountpoint Pod (LC-7)",
      {
        workloads: [workload(w2, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1] }), attachment({ [mp(w1)]: [w1, w2] }, { name: "s3pa-duplicate" })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w2", "detach"],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it("is cleaned up before a new Mountpoint Pod is created for another workload, which a quota may refuse", () => {
    const decision = decide(
      seen({
        workloads: [workload(w2, { fsGroup: "2000" })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1)), pod(mp(w3), { needsUnmount: true, phase: "succeeded" })],
      }),
    );
    expect(summary(decision)).toEqual(["annotate w1#0", "detach", "delete w3#0", "create w2#0", "attach w2#0: w2"]);
  });

  it("is released first where another one needs a new Mountpoint Pod in the same attachment", () => {
    const decision = decide(
      seen({
        workloads: [workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1), { noNewWorkload: true })],
      }),
    );
    expect(summary(decision)).toEqual(["annotate w1#0", "detach"]);
  });
});

describe("a Mountpoint Pod with workloads", () => {
  const running = workload(w1, { phase: "running" });
  const attachments = [attachment({ [mp(w1)]: [w1] })];

  it.for([
    [
      "ended with code 0 without the needs-unmount annotation (LC-13)",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { phase: "succeeded" })] },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    [
      "was evicted",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { phase: "failed" })] },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    ["was deleted by force", { workloads: [running], attachments }, ["create w1#1", "rewrite w1#1: w1"]],
    [
      "died with several workloads, which get one successor",
      { workloads: [running, workload(w2)], attachments: [attachment({ [mp(w1)]: [w1, w2] })] },
      ["create w1#1", "rewrite w1#1: w1 w2"],
    ],
    [
      "died, while another in the same attachment is open",
      {
        workloads: [running, workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w2))],
      },
      ["rewrite w2#0: w2 w1"],
    ],
    [
      "died before the options of its volume were edited",
      {
        volume: { ...volume, mountOptions: ["allow-delete"] },
        workloads: [running],
        attachments,
        mountpointPods: [pod(mp(w1), { phase: "failed" })],
      },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    [
      "is the second to die",
      {
        workloads: [running],
        attachments: [attachment({ [mp(w1, 1)]: [w1] })],
        mountpointPods: [pod(mp(w1, 1), { phase: "failed" })],
      },
      ["annotate w1#1", "create w1#2", "rewrite w1#2: w1"],
    ],
    [
      "died and cannot be replaced, because its volume is gone",
      { volume: undefined, workloads: [running], attachments, mountpointPods: [pod(mp(w1), { phase: "failed" })] },
      [],
    ],
    [
      "is being deleted and still serves the workloads that run",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { terminating: true })] },
      [],
    ],
    [
      "is being deleted before its workloads were mounted",
      { workloads: [workload(w1)], attachments, mountpointPods: [pod(mp(w1), { terminating: true })] },
      ["annotate w1#0", "create w1#1", "rewrite w1#1: w1"],
    ],
    [
      "is being deleted, got the annotation because of a lagging view, and still serves workloads that are being deleted, too",
      {
        workloads: [{ ...running, terminating: true }],
        attachments,
        mountpointPods: [pod(mp(w1), { terminating: true, needsUnmount: true, needsUnmountSince: now })],
      },
      [],
    ],
    [
      "got the annotation from an operator and still serves the workloads that run",
      { workloads: [running], attachments, mountpointPods: [pod(mp(w1), { needsUnmount: true })] },
      [],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it.for([
    { generation: 1, waitMs: 1000 },
    { generation: 2, waitMs: 2000 },
    { generation: 3, waitMs: 4000 },
  ])("that dies at once gets successor $generation after $waitMs ms, and not earlier", ({ generation, waitMs }) => {
    const holder = mp(w1, generation - 1);
    const since = (ageMs: number) =>
      seen({
        now: new Date(Date.parse(longAgo) + ageMs),
        workloads: [running],
        attachments: [attachment({ [holder]: [w1] }, { since: longAgo })],
      });
    expect(decide(since(0))).toMatchObject({ steps: [], again: { afterMs: waitMs } });
    expect(decide(since(waitMs - 100))).toMatchObject({ steps: [], again: { afterMs: 100 } });
    expect(summary(decide(since(waitMs)))).toContain(`create w1#${generation}`);
    expect(summary(decide(since(-1000))), "attached in the future").toContain(`create w1#${generation}`);
  });
});

describe("a Mountpoint Pod that no attachment lists", () => {
  const moments = [-119_000, -120_000, 60_000, 3_600_000].map((ms) => new Date(now.getTime() + ms));
  const [fresh, old, inAMinute, inAnHour] = moments as [Date, Date, Date, Date];

  it.for([
    ["is young: its attachment may not be written yet", { createdAt: fresh }, []],
    ["is old: it is orphaned", { createdAt: old }, ["annotate w1#0"]],
    ["is of the far future: the clock of this replica is behind", { createdAt: inAnHour }, ["annotate w1#0"]],
    ["is of the near future: clocks differ a little", { createdAt: inAMinute }, []],
    ["is old and has ended", { createdAt: old, phase: "failed" }, ["annotate w1#0"]],
    ["is annotated and runs: the node plugin unmounts it", { needsUnmount: true, needsUnmountSince: now }, []],
    ["is annotated by 2.x and runs: the time is added", { needsUnmount: true }, ["annotate w1#0"]],
    ["is annotated and Succeeded", { needsUnmount: true, phase: "succeeded" }, ["delete w1#0"]],
    ["is annotated and Failed", { needsUnmount: true, phase: "failed" }, ["delete w1#0"]],
    ["is annotated and never started", { needsUnmount: true, phase: "pending" }, ["delete w1#0"]],
    ["is annotated and being deleted", { needsUnmount: true, phase: "pending", terminating: true }, []],
  ] as [string, Partial<MountpointPod>, readonly string[]][])("%s", ([, but, steps]) => {
    expect(summary(decide(seen({ mountpointPods: [pod(mp(w1), but)] })))).toEqual(steps);
  });

  it("has cleanup in the reason of its step", () => {
    const { steps } = decide(seen({ mountpointPods: [pod(mp(w1), { createdAt: old })] }));
    expect(steps[0]?.because).toContain("cleanup");
  });

  it("stays while it lists a workload, although it cannot serve it any more", () => {
    const decision = decide(
      seen({
        volume: undefined,
        workloads: [workload(w1, { phase: "running" })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1), { needsUnmount: true, phase: "succeeded" })],
      }),
    );
    expect(summary(decision)).toEqual([]);
  });
});

it("deletes an attachment that lists nothing", () => {
  expect(summary(decide(seen({ attachments: [attachment({})] })))).toEqual(["detach"]);
  expect(summary(decide(seen({ attachments: [attachment({ [mp(w1)]: [] })], mountpointPods: [pod(mp(w1))] })))).toEqual(
    ["annotate w1#0", "detach"],
  );
});
