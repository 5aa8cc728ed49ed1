/** Table tests of the decision, part 4: Mountpoint Pods that the node plugin unmounts, and what it reports of them. */
import { expect, it } from "vitest";
import type { ReportedSource } from "../../core/attachment-status.ts";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { PodProblem } from "../domain/mountpoint-pod/mountpoint-pod-report.ts";
import { decide } from "./decide.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import { attachment, mp, now, pod, seen, summary, w1, w2, workload } from "./situation.fixture.ts";

it.for([
  [
    "DS-14 an annotated Mountpoint Pod that does not end and that its node does not report on is deleted only if its node is gone",
    { mountpointPods: [annotated(600_000)] },
    ["delete w1#0 if its node is gone"],
  ],
  [
    "DS-14 an annotated Mountpoint Pod in use is never deleted",
    { attachments: [unmounting({ inUse: true })], mountpointPods: [annotated(86_400_000)] },
    [],
  ],
  [
    "DS-14 an annotated Mountpoint Pod that is not in use is deleted when it does not end",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [annotated(600_000)] },
    ["delete w1#0"],
  ],
  [
    "DS-14 an annotated Mountpoint Pod that is not in use gets time for the unmount",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [annotated(599_000)] },
    [],
  ],
  [
    "LC-21 a Mountpoint Pod whose workloads have moved gets a day, because files may be open",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [moved(86_399_000)] },
    [],
  ],
  [
    "LC-21 a Mountpoint Pod whose workloads have moved is deleted after a day",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [moved(86_400_000)] },
    ["delete w1#0"],
  ],
  [
    "DS-14 a Mountpoint Pod whose node does not report yet whether it is in use is deleted only if its node is gone",
    { attachments: [unmounting({})], mountpointPods: [annotated(600_000)] },
    ["delete w1#0 if its node is gone"],
  ],
  [
    "DS-14 a Mountpoint Pod that its node reports on stays listed when its last workload ends",
    { attachments: [attachment({ [mp(w1)]: [w1] }, { sources: { [mp(w1)]: {} } })], mountpointPods: [pod(mp(w1))] },
    ["annotate w1#0", "rewrite w1#0: "],
  ],
  [
    "DS-14 a Mountpoint Pod that its node reports on is unlisted once it has ended",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [{ ...annotated(0), phase: "succeeded" }] },
    ["detach"],
  ],
  [
    "DS-14 a Mountpoint Pod that its node reports on is unlisted when it is being deleted",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [{ ...annotated(0), terminating: true }] },
    ["detach"],
  ],
  [
    "DS-14 a Mountpoint Pod that its node reports on is unlisted when its container has failed",
    {
      attachments: [unmounting({ inUse: false })],
      mountpointPods: [{ ...annotated(0), problem: problem("crashing") }],
    },
    ["detach"],
  ],
  [
    "DS-14 a Mountpoint Pod that its node reports on stays listed while its container runs, whatever is wrong with it",
    { attachments: [unmounting({ inUse: true })], mountpointPods: [{ ...annotated(0), problem: problem("stuck") }] },
    [],
  ],
  [
    "DS-14 a Mountpoint Pod with workloads in one attachment is needed, although another lists it without any",
    {
      workloads: [workload(w1, { phase: "running" })],
      attachments: [
        unmounting({}),
        attachment({ [mp(w1)]: [w1] }, { mountOptions: "former", name: "s3pa-of-2-x", sources: { [mp(w1)]: {} } }),
      ],
      mountpointPods: [pod(mp(w1))],
    },
    ["detach"],
  ],
] as (readonly [string, Partial<Observed>, readonly string[]])[])("%s", ([, observed, steps]) => {
  expect(summary(decide(seen(observed)))).toEqual(steps);
});

it("SC-7 the annotation depends on the attachments that list the Mountpoint Pod, and on no others", () => {
  const listing = attachment({ [mp(w1)]: [w1] });
  const other = attachment({ [mp(w2)]: [w2] }, { mountOptions: "former", name: "s3pa-other" });
  const { steps } = decide(
    seen({
      workloads: [workload(w2, { phase: "running" })],
      attachments: [other, listing],
      mountpointPods: [pod(mp(w1)), pod(mp(w2))],
    }),
  );
  expect(steps[0]).toMatchObject({ do: "annotateForUnmount", mountpointPod: { name: mp(w1) }, listedBy: [listing] });
});

function problem(kind: PodProblem["kind"]): PodProblem {
  return { kind, cause: `is ${kind}`, fix: "Mend it." };
}

function annotated(sinceMs: number): ReportedMountpointPod {
  return pod(mp(w1), { needsUnmount: true, needsUnmountSince: new Date(now.getTime() - sinceMs) });
}

/** An attachment that has lost its last workload, with a report of its node. */
function moved(agoMs: number): ReportedMountpointPod {
  return { ...annotated(agoMs), move: { ...noMove, to: mp(w1, 1) } };
}

function unmounting(source: ReportedSource): ObservedAttachment {
  return attachment({ [mp(w1)]: [] }, { sources: { [mp(w1)]: source } });
}
