/** Table tests of the decision: workloads that more than one list of a Mountpoint Pod names (LC-7). */
import { expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import { attachment, longAgo, mp, pod, seen, volume, w1, w2, w3, workload } from "./situation.fixture.ts";

const running = (uid: typeof w1) => workload(uid, { phase: "running" });
const first = (lists: Parameters<typeof attachment>[0]) =>
  attachment(lists, { name: "s3pa-first", mountOptions: "before-the-edit" });
const later = (lists: Parameters<typeof attachment>[0], since = "2026-01-15T11:00:00Z"): ObservedAttachment => {
  const made = attachment(lists, { name: "s3pa-later", since });
  return { ...made, metadata: { ...made.metadata, creationTimestamp: since } };
};

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

it.for([
  [
    "on the same Mountpoint Pod: it stays in the older attachment",
    {
      workloads: [running(w1)],
      attachments: [later({ [mp(w1)]: [w1] }), first({ [mp(w1)]: [w1] })],
      mountpointPods: [pod(mp(w1))],
    },
    ["confirm s3pa-first", "delete s3pa-later"],
  ],
  [
    "on the same Mountpoint Pod, which serves another in the newer attachment",
    {
      workloads: [running(w1), running(w2)],
      attachments: [later({ [mp(w1)]: [w1, w2] }), first({ [mp(w1)]: [w1] })],
      mountpointPods: [pod(mp(w1))],
    },
    ["confirm s3pa-first", "rewrite s3pa-later: w1#0: w2"],
  ],
  [
    "on two Mountpoint Pods: it stays on the one of the older attachment, and the other one is unmounted",
    {
      workloads: [running(w1)],
      attachments: [later({ [mp(w1, 1)]: [w1] }), first({ [mp(w1)]: [w1] })],
      mountpointPods: [pod(mp(w1)), pod(mp(w1, 1))],
    },
    ["confirm s3pa-first", "annotate w1#1", "delete s3pa-later"],
  ],
  [
    "on two Mountpoint Pods of one attachment",
    {
      workloads: [running(w1)],
      attachments: [first({ [mp(w1)]: [w1], [mp(w1, 1)]: [w1] })],
      mountpointPods: [pod(mp(w1)), pod(mp(w1, 1))],
    },
    ["confirm s3pa-first", "annotate w1#1", "rewrite s3pa-first: w1#0: w1"],
  ],
  [
    "on two Mountpoint Pods, of which only the later one serves",
    {
      workloads: [running(w1)],
      attachments: [
        { ...later({ [mp(w1, 1)]: [w1] }), sources: { [mp(w1, 1)]: { health: "serving" } } },
        first({ [mp(w1)]: [w1] }),
      ],
      mountpointPods: [pod(mp(w1), { phase: "pending" }), pod(mp(w1, 1))],
    },
    ["confirm s3pa-later", "annotate w1#0", "delete s3pa-first"],
  ],
  [
    "on a Mountpoint Pod with others: their order stays",
    {
      workloads: [running(w1), running(w2)],
      attachments: [later({ [mp(w1)]: [w1] }), first({ [mp(w1)]: [w1, w2] })],
      mountpointPods: [pod(mp(w1))],
    },
    ["confirm s3pa-first", "delete s3pa-later"],
  ],
  [
    "on two Mountpoint Pods, of which only the later one is left",
    {
      workloads: [running(w1)],
      attachments: [later({ [mp(w1, 1)]: [w1] }), first({ [mp(w1)]: [w1] })],
      mountpointPods: [pod(mp(w1, 1))],
    },
    ["confirm s3pa-later", "delete s3pa-first"],
  ],
  [
    "on a Mountpoint Pod that is not yet observed: nothing is concluded",
    {
      workloads: [running(w1)],
      attachments: [later({ [mp(w1, 1)]: [w1] }), first({ [mp(w1)]: [w1] })],
      mountpointPods: [pod(mp(w1))],
      notYetObserved: new Set([mp(w1, 1)]),
    },
    [],
  ],
  [
    "and is not yet observed itself",
    {
      workloads: [running(w2)],
      attachments: [later({ [mp(w1)]: [w3, w2] }), first({ [mp(w1)]: [w3] })],
      mountpointPods: [pod(mp(w1))],
      notYetObserved: new Set([w3]),
    },
    [],
  ],
] satisfies readonly Row[])("LC-7 a workload is listed twice %s", ([, observed, steps]) => {
  const decision = decide(seen({ volume: { ...volume, mountOptions: [] }, ...observed }));
  expect(named(decision)).toEqual(steps);
});

it("LC-7 whichever attachment the cache holds first", () => {
  const attachments = [later({ [mp(w1)]: [w1] }, longAgo), first({ [mp(w1, 1)]: [w1] })];
  const mountpointPods = [pod(mp(w1)), pod(mp(w1, 1))];
  const decide1 = decide(seen({ workloads: [running(w1)], attachments, mountpointPods }));
  const decide2 = decide(seen({ workloads: [running(w1)], attachments: attachments.toReversed(), mountpointPods }));
  expect(named(decide1)).toEqual(["confirm s3pa-first", "annotate w1#0", "delete s3pa-later"]);
  expect(named(decide2)).toEqual(named(decide1));
});

/** The steps in short, with the names of attachments. */
function named({ steps }: ReturnType<typeof decide>): readonly string[] {
  return steps.map((step) => {
    if (step.do === "rewriteAttachment") {
      const lists = Object.entries(step.spec.mountpointS3PodAttachments);
      const texts = lists.map(([name, served]) => [alias(name), served.map((each) => each.workloadPodUID).join(" ")]);
      return `rewrite ${step.attachment.metadata.name}: ${texts.map((each) => each.join(": ")).join(", ")}`;
    }
    if (step.do === "confirmAttachment") return `confirm ${step.attachment.metadata.name}`;
    if (step.do === "deleteAttachment") return `delete ${step.attachment.metadata.name}`;
    return step.do === "annotateForUnmount" ? `annotate ${alias(step.mountpointPod.name)}` : step.do;
  });
}

function alias(name: string): string {
  return name === mp(w1) ? "w1#0" : name === mp(w1, 1) ? "w1#1" : name;
}
