import { describe, expect, it } from "vitest";
import type { PodUid } from "../../core/names.ts";
import { defaultStore } from "../../core/stores/store.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import {
  attachment,
  longAgo,
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
    [
      "has such a Mountpoint Pod with the needs-unmount annotation, which is not for a new bind mount",
      { workloads: [workload(w1)], mountpointPods: [pod(mp(w1), { needsUnmount: true, needsUnmountSince: now })] },
      ["create w1#1", "attach w1#1: w1"],
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

it.for([
  { credentials: volume.credentials, source: "driver" },
  { credentials: ofSecret, source: "secret" },
  { credentials: { source: "pod", role: undefined, store: defaultStore } as const, source: "pod" },
])("writes into the attachment whose credentials are used: $source", ({ credentials, source }) => {
  const { steps } = decide(seen({ volume: { ...volume, credentials }, workloads: [workload(w1)] }));
  const attached = steps.find((step) => step.do === "createAttachment");
  expect(attached?.attachment.spec.authenticationSource).toBe(source);
});

it("gives the reasons why an attachment changes", () => {
  const empty = decide(seen({ attachments: [attachment({})] })).steps;
  expect(empty.map(({ because }) => because)).toEqual(["it lists nothing"]);
  const released = decide(seen({ attachments: [attachment({ [mp(w1)]: [w1] })] })).steps;
  expect(released.map(({ because }) => because)).toEqual(["a workload ended; a Mountpoint Pod serves no workload"]);
  const first = decide(seen({ workloads: [workload(w1)] })).steps;
  expect(first.map(({ because }) => because)).toContain("no Mountpoint Pod is open to a workload");
  const lost = decide(seen({ workloads: [workload(w1)], attachments: [attachment({ [mp(w1)]: [w1] })] })).steps;
  expect(lost.map(({ because }) => because)).toContain("the Mountpoint Pod ended");
});

it("decides again at the earliest of several times", () => {
  const decision = decide(
    seen({
      now: new Date(Date.parse(longAgo) + 100),
      workloads: [w1, w2].map((uid) => workload(uid, { phase: "running" })),
      attachments: [attachment({ [mp(w1, 1)]: [w1], [mp(w2)]: [w2] })],
    }),
  );
  expect(decision).toMatchObject({ steps: [], again: { afterMs: 900 } });
});
