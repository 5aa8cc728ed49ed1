import { expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { attachment, mp, pod, seen, volume, w1, workload } from "../decision/situation.fixture.ts";
import { trackedIn } from "./tracker.ts";

it("LC-21 a Mountpoint Pod whose workloads are listed at its successor is left, also before an annotation says since when", () => {
  const observed = seen({
    workloads: [workload(w1, { phase: "running" })],
    mountpointPods: [
      pod(mp(w1), { settings: "before", move: { ...noMove, requested: "rollout-now" } }),
      pod(mp(w1, 1)),
    ],
    attachments: [attachment({ [mp(w1)]: [], [mp(w1, 1)]: [w1] })],
  });
  expect(trackedIn(observed)).toMatchObject([
    { name: mp(w1), state: "moving", isMounted: false, isLeft: true, leftSince: undefined },
    { name: mp(w1, 1), state: "current", isLeft: false },
  ]);
});

it("LC-21 counts a failure while an operator asks for another move, in the namespace of the claim", () => {
  const move = { ...noMove, requested: "mine", failed: ["rollout-now"] };
  const observed = seen({
    volume: { ...volume, claim: "team-a/data" },
    workloads: [workload(w1, { phase: "running" })],
    mountpointPods: [pod(mp(w1), { settings: "before", move })],
    attachments: [attachment({ [mp(w1)]: [w1] })],
    current: { hash: "now", retry: "" },
  });
  expect(trackedIn(observed)).toMatchObject([{ state: "moving", hasFailed: true, namespace: "team-a" }]);
  expect(trackedIn({ ...observed, current: { hash: "now", retry: "2" } })).toMatchObject([{ hasFailed: false }]);
});
