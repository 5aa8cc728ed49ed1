import { describe, expect, it } from "vitest";
import type { PodUid } from "../../core/names.ts";
import type { Workload } from "../domain/workload.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, longAgo, mp, now, pod, seen, summary, volume, w1, w2, w3, workload } from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

describe("a workload that is to be mounted", () => {
  it.for([
    ["is the first", { workloads: [workload(w1)] }, ["create w1#0", "attach w1#0: w1"]],
    ["comes together with another", { workloads: [workload(w1), workload(w2)] }, ["create w1#0", "attach w1#0: w1 w2"]],
    [
      "finds an open Mountpoint Pod",
      { workloads: [workload(w2)], attachments: [attachment({ [mp(w1)]: [w1] })], mountpointPods: [pod(mp(w1))] },
      ["rewrite w1#0: w2"],
    ],
    [
      "shares with a running one",
      {
        workloads: [workload(w1, { phase: "running" }), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w1 w2"],
    ],
    [
      "shares with one that is terminating and keeps its volume (DS-8)",
      {
        workloads: [workload(w1, { phase: "running", terminating: true }), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w1 w2"],
    ],
    [
      "has another fsGroup",
      {
        workloads: [workload(w1), workload(w2, { fsGroup: "2000" })],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["create w2#0", "attach w2#0: w2"],
    ],
    [
      "finds the options of the volume edited",
      {
        volume: { ...volume, mountOptions: ["allow-delete"] },
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["create w2#0", "attach w2#0: w2"],
    ],
    [
      "is attached already",
      { workloads: [workload(w1)], attachments: [attachment({ [mp(w1)]: [w1] })], mountpointPods: [pod(mp(w1))] },
      [],
    ],
    [
      "has a Mountpoint Pod whose attachment was not written (LC-5)",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1), { phase: "pending", createdAt: now })] },
      ["attach w1#0: w1"],
    ],
    [
      "joins another with such a Mountpoint Pod, whichever workload is decided first",
      { workloads: [workload(w1), workload(w2)], mountpointPods: [pod(mp(w2), { phase: "pending", createdAt: now })] },
      ["attach w2#0: w2 w1"],
    ],
    [
      "has such a Mountpoint Pod of a volume that was recreated since",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1), { identity: "secret:shop/keys", createdAt: now })] },
      ["create w1#1", "attach w1#1: w1"],
    ],
    [
      "has none, but one without an attachment was created for another workload",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w3), { createdAt: now })] },
      ["create w1#0", "attach w1#0: w1"],
    ],
    [
      "comes together with another that has another fsGroup",
      { workloads: [workload(w1), workload(w2, { fsGroup: "2000" })] },
      ["create w1#0", "attach w1#0: w1", "create w2#0", "attach w2#0: w2"],
    ],
    [
      "stays with its Mountpoint Pod although another one is open, too",
      {
        workloads: [workload(w1), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1], [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1)), pod(mp(w2))],
      },
      [],
    ],
    ["waits for a PersistentVolume that does not exist", { volume: undefined, workloads: [workload(w1)] }, []],
    [
      "uses a volume that is refused",
      { volume: { name: volume.name, refused: "why" }, workloads: [workload(w1)] },
      ["report VolumeRefused to w1"],
    ],
    ["is being deleted before its first mount", { workloads: [workload(w1, { terminating: true })] }, []],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });

  it.for([
    ["a headroom Pod reserves room for its Mountpoint Pod", new Set([w1]), true],
    ["a headroom Pod reserves room for that of another workload", new Set([w2]), false],
    ["there is none, whatever labels it has", new Set<PodUid>(), false],
  ] as const)(
    "SE-10 its Mountpoint Pod may preempt others only if a headroom Pod exists: %s",
    ([, reserved, preempts]) => {
      const { steps } = decide(seen({ workloads: [workload(w1)], reserved }));
      expect(steps[0]).toMatchObject({ do: "createMountpointPod", purpose: { workload: w1, preempts } });
    },
  );

  it.for([
    ["another version created it", { driverVersion: "2.1.1" }],
    ["it uses other credentials (SE-6)", { identity: "secret:shop/keys" }],
    ["2.x created it", { identity: undefined, volumeId: undefined }],
    ["an operator closed it", { noNewWorkload: true }],
    ["it was created for a read-only volume of the same name", { readOnly: true }],
    ["it has the needs-unmount annotation", { needsUnmount: true }],
    ["it is being deleted", { terminating: true }],
  ] as const)("gets its own Mountpoint Pod in the same attachment where %s", ([, but]) => {
    const decision = decide(
      seen({
        workloads: [workload(w1, { phase: "running" }), workload(w2)],
        attachments: [attachment({ [mp(w1)]: [w1] })],
        mountpointPods: [pod(mp(w1), but)],
      }),
    );
    expect(summary(decision)).toEqual(["create w2#0", "rewrite w1#0: w1, w2#0: w2"]);
  });

  it("gets an event with the reason of the refusal", () => {
    const { steps } = decide(seen({ volume: { name: volume.name, refused: "no bucket" }, workloads: [workload(w1)] }));
    expect(steps).toMatchObject([{ do: "reportVolume", because: "no bucket" }]);
  });
});

const running = (uid: PodUid, but: Partial<Workload> = {}) => workload(uid, { phase: "running", ...but });

describe("a running workload without an attachment", () => {
  it.for([
    [
      "gets it back with the Mountpoint Pod that was created for it (LC-9)",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w1))] },
      ["attach w1#0: w1"],
    ],
    [
      "gets it back whichever version created its Mountpoint Pod",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w1), { driverVersion: "2.1.1", identity: undefined })] },
      ["attach w1#0: w1"],
    ],
    [
      "gets it back together with its sharers",
      { workloads: [running(w2), running(w1)], mountpointPods: [pod(mp(w1))] },
      ["attach w1#0: w1 w2"],
    ],
    [
      "gets it back when the one it shared with is gone",
      { workloads: [running(w2)], mountpointPods: [pod(mp(w1))] },
      ["attach w1#0: w2"],
    ],
    [
      "gets its own Mountpoint Pod back, each",
      {
        workloads: [running(w1), running(w2, { fsGroup: "2000" })],
        mountpointPods: [pod(mp(w1)), pod(mp(w2))],
      },
      ["attach w1#0: w1", "attach w2#0: w2"],
    ],
    [
      "is added to the attachment that lists its Mountpoint Pod for other workloads",
      {
        workloads: [running(w1), running(w2)],
        attachments: [attachment({ [mp(w1)]: [w2] }, { mountOptions: "before-the-edit" })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w2 w1"],
    ],
    [
      "is added to the attachment that lists its Mountpoint Pod for a workload that does not exist",
      {
        workloads: [running(w1)],
        attachments: [attachment({ [mp(w1)]: [w3] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w1"],
    ],
    ["is left alone where there is no Mountpoint Pod (v1)", { workloads: [running(w1)] }, []],
    [
      "is left alone where the Mountpoint Pod of other workloads runs (v1)",
      {
        workloads: [running(w1), running(w2)],
        attachments: [attachment({ [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w2))],
      },
      [],
    ],
    [
      "is left alone where a Mountpoint Pod is just being created for another workload (v1)",
      { workloads: [running(w1), workload(w2)] },
      ["create w2#0", "attach w2#0: w2"],
    ],
    [
      "is left alone if its volume is refused (v1)",
      { volume: { name: volume.name, refused: "why" }, workloads: [running(w1)] },
      [],
    ],
    [
      "DS-14 gets back its own Mountpoint Pod, although that has the needs-unmount annotation: its bind mount keeps the source",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w1), { needsUnmount: true, needsUnmountSince: now })] },
      ["attach w1#0: w1"],
    ],
    [
      "does not get back its own Mountpoint Pod that was annotated before it started: that never mounted anything",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w1), { needsUnmount: true, phase: "pending" })] },
      ["delete w1#0"],
    ],
    [
      "does not get a Mountpoint Pod of another workload that has not started",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w2), { phase: "pending", createdAt: now })] },
      [],
    ],
    [
      "is left alone where another one is added to the list of its own Mountpoint Pod (v1)",
      {
        workloads: [running(w1), running(w2), running(w3)],
        attachments: [attachment({ [mp(w1)]: [w2] })],
        mountpointPods: [pod(mp(w1))],
      },
      ["rewrite w1#0: w2 w1"],
    ],
    [
      "does not get a Mountpoint Pod of another workload that has the needs-unmount annotation",
      { workloads: [running(w1)], mountpointPods: [pod(mp(w2), { needsUnmount: true, needsUnmountSince: now })] },
      [],
    ],
  ] as Row[])("%s", ([, observed, steps]) => {
    expect(summary(decide(seen(observed)))).toEqual(steps);
  });
});

it.for([
  { identity: "driver", source: "driver" },
  { identity: "secret:shop/keys", source: "secret" },
])("writes into the attachment whose credentials are used: $source", ({ identity, source }) => {
  const { steps } = decide(seen({ volume: { ...volume, identity }, workloads: [workload(w1)] }));
  const attached = steps.find((step) => step.do === "createAttachment");
  expect(attached?.attachment.spec.authenticationSource).toBe(source);
});

it("gives the reasons why an attachment changes", () => {
  const empty = decide(seen({ attachments: [attachment({})] })).steps;
  expect(empty.map(({ because }) => because)).toEqual(["it lists nothing"]);
  const released = decide(seen({ attachments: [attachment({ [mp(w1)]: [w1] })] })).steps;
  expect(released.map(({ because }) => because)).toEqual(["a workload ended; a Mountpoint Pod serves no workload"]);
});

it("decides again at the earliest of several times", () => {
  const decision = decide(
    seen({
      now: new Date(Date.parse(longAgo) + 100),
      workloads: [running(w1), running(w2)],
      attachments: [attachment({ [mp(w1, 1)]: [w1], [mp(w2)]: [w2] })],
    }),
  );
  expect(decision).toMatchObject({ steps: [], again: { afterMs: 900 } });
});
