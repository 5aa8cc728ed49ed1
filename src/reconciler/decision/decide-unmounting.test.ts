/** Mountpoint Pods that are to be unmounted, and what their node reports of them. */
import { expect, it } from "vitest";
import type { ReportedSource } from "../../core/attachment-status.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { decide } from "./decide.ts";
import type { Observed, ObservedAttachment } from "./decision.ts";
import { attachment, mp, now, pod, seen, summary, w1, workload } from "./situation.fixture.ts";

it.for([
  [
    "DS-14 one that is marked, does not end and is not reported on is deleted only if its node is gone",
    { mountpointPods: [marked(600_000)] },
    ["delete w1#0 if its node is gone"],
  ],
  [
    "DS-14 one that is marked and in use is never deleted",
    { attachments: [unmounting({ inUse: true })], mountpointPods: [marked(86_400_000)] },
    [],
  ],
  [
    "DS-14 one that is marked and not in use is deleted when it does not end",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [marked(600_000)] },
    ["delete w1#0"],
  ],
  [
    "DS-14 one that is marked and not in use is left to its node for a while",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [marked(599_000)] },
    [],
  ],
  [
    "DS-14 one whose node reports, but not yet on its use, is deleted only if its node is gone",
    { attachments: [unmounting({})], mountpointPods: [marked(600_000)] },
    ["delete w1#0 if its node is gone"],
  ],
  [
    "DS-14 one whose node reports on it stays listed when its last workload ends",
    { attachments: [attachment({ [mp(w1)]: [w1] }, { sources: { [mp(w1)]: {} } })], mountpointPods: [pod(mp(w1))] },
    ["annotate w1#0", "rewrite w1#0: "],
  ],
  [
    "DS-14 one whose node reports on it is forgotten once it has ended",
    { attachments: [unmounting({ inUse: false })], mountpointPods: [{ ...marked(0), phase: "succeeded" }] },
    ["detach"],
  ],
  [
    "DS-14 one that another attachment lists workloads on is needed, although one lists it for nobody",
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

function marked(sinceMs: number): ReportedMountpointPod {
  return pod(mp(w1), { needsUnmount: true, needsUnmountSince: new Date(now.getTime() - sinceMs) });
}

/** An attachment that has lost its last workload, on a node that reports. */
function unmounting(source: ReportedSource): ObservedAttachment {
  return attachment({ [mp(w1)]: [] }, { sources: { [mp(w1)]: source } });
}
