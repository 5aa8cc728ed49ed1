/** Table tests of the decision, part 5: running workloads that no attachment lists. */
import { describe, expect, it } from "vitest";
import type { PodUid } from "../../core/names.ts";
import type { Workload } from "../domain/workload.ts";
import { decide } from "./decide.ts";
import type { Observed } from "./decision.ts";
import { attachment, longAgo, mp, now, pod, seen, summary, volume, w1, w2, w3, workload } from "./situation.fixture.ts";

type Row = readonly [situation: string, observed: Partial<Observed>, steps: readonly string[]];

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
    [
      "is added to the attachment with its key, beside workloads that have another Mountpoint Pod",
      {
        workloads: [running(w1), running(w2)],
        attachments: [attachment({ [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w1)), pod(mp(w2))],
      },
      ["rewrite w2#0: w2, w1#0: w1"],
    ],
    [
      "gets back the Mountpoint Pod of its sharers, not one without an attachment",
      {
        workloads: [running(w1, { startedAt: longAgo }), running(w2)],
        attachments: [attachment({ [mp(w2)]: [w2] })],
        mountpointPods: [pod(mp(w2)), pod(mp(w3), { createdAt: now })],
      },
      ["rewrite w2#0: w2 w1"],
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
      "is left alone where a Mountpoint Pod has just been created for another workload (v1)",
      { workloads: [workload(w2), running(w1)] },
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
      "DS-14 gets it back while it is being deleted and kubelet has not reported a container: one may run",
      { workloads: [workload(w1, { terminating: true })], mountpointPods: [pod(mp(w1))] },
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
      "DS-14 gets that Mountpoint Pod back, too, if it is being deleted before kubelet has reported a container: it may have a bind mount",
      {
        workloads: [workload(w1, { terminating: true })],
        mountpointPods: [pod(mp(w1), { needsUnmount: true, needsUnmountSince: now })],
      },
      ["attach w1#0: w1"],
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
