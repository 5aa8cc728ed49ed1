/** Defects in rollouts and warm Mountpoint Pods that the simulation must find: each is put into the program, and a short story shows it. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { UnconfirmedWrites } from "../../src/reconciler/act/unconfirmed-writes.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import { RolloutTracker } from "../../src/reconciler/rollout/tracker.ts";
import { WarmPool } from "../../src/reconciler/warm/pool.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { ApiServer } from "./api-server.ts";
import type { Plan, PlannedFault, PlannedWorkload } from "./plan.ts";
import { played } from "./played.ts";
import { firstRelease, type Release } from "./release.ts";

afterEach(() => void vi.restoreAllMocks());

const rollout = { ...manualRollout, strategy: "rolling", maxParallel: 1 } as const;
const rolling: Release = { ...firstRelease, rollout };
const withWarm: Release = { ...firstRelease, warmPerNode: 1 };

const workload: PlannedWorkload = {
  ...{ atSeconds: 30, node: 0, volume: 0, fsGroup: 0 },
  ...{ livesSeconds: 100_000, end: "isDeleted" },
};
/** Each has a Mountpoint Pod of its own, two of them on one node. */
const workloads = [workload, { ...workload, volume: 1 }, { ...workload, node: 1 }];

const lateAttachments = { replica: 0, fault: "watchIsLate", kind: "mountpoints3podattachments" } as const;
const ofTwoGroups: readonly PlannedWorkload[] = [
  { ...workload, atSeconds: 0, volume: 1 },
  { ...workload, atSeconds: 24 },
  { ...workload, atSeconds: 37, fsGroup: 2000 },
  { ...workload, atSeconds: 24, livesSeconds: 1 },
];

function planWith(release: Release, faults: readonly PlannedFault[], but: Partial<Plan> = {}): Plan {
  const clock = { skewSeconds: 0, drift: 0 };
  const usual = { seed: 1, clocks: [clock, clock], hasElection: true, hasWatchList: true, workloads };
  return { ...usual, release, faults, ...but };
}

const upgradedTo = (driver: Release["driver"]): PlannedFault => {
  return { atSeconds: 100, replica: 0, fault: "helmUpgrade", to: { ...rolling, driver } };
};

const defects = [
  {
    what: "LC-21 a rollout that forgets what is under way",
    plan: planWith(rolling, [upgradedTo("otherImage")]),
    putIn: () => void vi.spyOn(RolloutTracker.prototype, "moving", "get").mockReturnValue(new Map()),
    finds: /\d move at once/,
  },
  {
    what: "LC-24 a rollout that goes on after a failure",
    plan: planWith(rolling, [upgradedTo("broken")]),
    putIn: () => void vi.spyOn(RolloutTracker.prototype, "failed", "get").mockReturnValue(new Map()),
    finds: /is to move after 1 moves have failed/,
  },
  {
    what: "LC-21 a rollout that stops before its end",
    plan: planWith(rolling, [upgradedTo("otherVersion")]),
    putIn: () => void vi.spyOn(RolloutTracker.prototype, "outdated", "get").mockReturnValue(new Map()),
    finds: /is outdated at rest/,
  },
  {
    what: "WM-1 a Mountpoint Pod that two volumes get at the same time",
    plan: planWith(withWarm, []),
    putIn: () => void vi.spyOn(WarmPool.prototype, "claim").mockReturnValue(),
    finds: /is given to two volumes/,
  },
  {
    what: "WM-1 a Mountpoint Pod that two attachments of a volume get, one of which the view lacks",
    plan: planWith(
      { ...rolling, warmPerNode: 2 },
      [{ ...lateAttachments, atSeconds: 0, bySeconds: 21, forSeconds: 25 }],
      { seed: 526_246_398, hasWatchList: false, workloads: ofTwoGroups },
    ),
    putIn: () => {
      vi.spyOn(WarmPool.prototype, "claimedFor").mockReturnValue(undefined);
      // Otherwise the leader waits until its view shows the first.
      vi.spyOn(UnconfirmedWrites.prototype, "add").mockReturnValue();
    },
    finds: /is given to two volumes/,
  },
  {
    what: "WM-1 a leader that counts none of those that wait, and creates one after the other",
    plan: planWith(withWarm, []),
    putIn: () => void vi.spyOn(WarmPool.prototype, "isListed").mockReturnValue(true),
    finds: /Mountpoint Pods wait on node-\d at rest|\d wait on node-\d/,
  },
  {
    what: "WM-1 Mountpoint Pods that wait without an owner, after a rollback",
    plan: planWith(withWarm, [], { leaves: "rollback" }),
    putIn: () => {
      const create = Reflect.get(ApiServer.prototype, "create");
      vi.spyOn(ApiServer.prototype, "create").mockImplementation(function (this: ApiServer, kind, given, by) {
        const { ownerReferences: _owner, ...metadata } = given.metadata as { name: string; ownerReferences?: object };
        return create.call(this, kind, { ...given, metadata }, by);
      });
    },
    finds: /left behind: mp-warm-/,
  },
  {
    what: "OP-2 a former leader whose watches count as stalled",
    plan: planWith(withWarm, [{ atSeconds: 100, replica: 0, fault: "freeze", forSeconds: 60 }]),
    putIn: () => {
      const pulse = Reflect.get(Progress.prototype, "pulse");
      vi.spyOn(Progress.prototype, "pulse").mockImplementation(function (this: Progress, loop) {
        return Object.assign(pulse.call(this, loop), { [Symbol.dispose]: () => undefined });
      });
    },
    finds: /watch over nodes: nothing has moved/,
  },
];

describe("the simulation finds", () => {
  it.for(defects)("$what", async ({ plan, putIn, finds }) => {
    expect(await played(plan)).not.toEqual([]);
    putIn();
    await expect(played(plan)).rejects.toThrow(finds);
  });
});
