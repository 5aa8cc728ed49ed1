/** Defects that the simulation must find: each is put into the program, and a short story shows it. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { KeyRateLimiter } from "../../src/kube/controller/key-rate-limiter.ts";
import { type Outcome, WorkQueue } from "../../src/kube/controller/work-queue.ts";
import { Term } from "../../src/kube/lease/term.ts";
import { Freshness } from "../../src/kube/watch/freshness.ts";
import { Attachments } from "../../src/node/cluster/attachments.ts";
import { MountTable } from "../../src/node/mounts/mount-table.ts";
import { DeadDevices } from "../../src/node/source/dead-devices.ts";
import { UnconfirmedWrites } from "../../src/reconciler/act/unconfirmed-writes.ts";
import { LateWatches } from "../../src/reconciler/observe/late-watches.ts";
import { PodChanges } from "../../src/reconciler/observe/pod-changes.ts";
import { Machine } from "./machine.ts";
import type { Plan, PlannedFault, PlannedWorkload } from "./plan.ts";
import { played } from "./played.ts";

afterEach(() => void vi.restoreAllMocks());

const workload: PlannedWorkload = {
  atSeconds: 30,
  node: 0,
  volume: 0,
  fsGroup: 0,
  livesSeconds: 1000,
  end: "isDeleted",
};

function planWith(faults: readonly PlannedFault[], but: Partial<Plan> = {}): Plan {
  const clock = { skewSeconds: 0, drift: 0 };
  const usual = { seed: 1, clocks: [clock, clock], hasElection: true, hasWatchList: true, workloads: [workload] };
  return { ...usual, faults, ...but };
}

const late = { replica: 1, fault: "watchIsLate", kind: "pods", bySeconds: 900, forSeconds: 600 } as const;
const lateStandby = planWith([
  { atSeconds: 20, ...late },
  { atSeconds: 200, replica: 0, fault: "crash", forSeconds: 60 },
]);
const lateReplica = planWith([{ atSeconds: 20, ...late }], { hasElection: false });
const deletedMountpointPod = planWith([
  { atSeconds: 100, replica: 0, fault: "mountpointPod", which: 0, what: "isDeleted" },
]);

/** A view that lacks a Pod takes the Pod for gone, however late it is. */
function takeMissingForGone(): void {
  vi.spyOn(PodChanges.prototype, "isGone").mockReturnValue(true);
}

function healNothing(): void {
  vi.spyOn(DeadDevices.prototype, "resume").mockImplementation((_dead, pin) => pin[Symbol.dispose]());
}

const mountpointPod = { atSeconds: 100, replica: 0, fault: "mountpointPod", which: 0 } as const;
const annotatedByHand = planWith([{ ...mountpointPod, what: "isAnnotatedByHand" }]);
/** The workload runs until the end of the story. */
const longWorkloads = [{ ...workload, livesSeconds: 10_000 }];
const otherSecret = { fault: "volumeBecomes", volume: 0, what: "withOtherSecret" } as const;
const deadMountS3OfOtherSecret = planWith(
  [
    { atSeconds: 90, replica: 0, ...otherSecret },
    { ...mountpointPod, what: "crashes" },
  ],
  { workloads: longWorkloads },
);
const deadMountS3 = planWith([{ ...mountpointPod, what: "crashes" }], {
  workloads: longWorkloads,
});

/** The workload ends while no replica leads. */
const endWithoutLeader = planWith([{ atSeconds: 1025, replica: 0, fault: "crash", forSeconds: 60 }]);

/** Frozen for longer than its term after it has decided to unmount a Mountpoint Pod, and before it has. */
async function frozenBeforeAnnotation(): Promise<Plan> {
  const story = await played(planWith([]));
  const decided = story.find((line) => line.includes('"step":"annotateForUnmount"')) ?? "";
  const atSeconds = Number.parseFloat(decided) + 0.001;
  return planWith([{ atSeconds, replica: 0, fault: "freeze", forSeconds: 16 }]);
}

/** The leader is frozen for longer than its term, and workloads come when it goes on. */
const frozenLeader = planWith([{ atSeconds: 100, replica: 0, fault: "freeze", forSeconds: 60 }], {
  workloads: [
    { ...workload, atSeconds: 170 },
    { ...workload, atSeconds: 180, fsGroup: 2000 },
    { ...workload, atSeconds: 190, node: 1 },
    { ...workload, atSeconds: 200, node: 1, fsGroup: 2000 },
  ],
});

/** The leader does not see that it has listed the second workload, whose volume then changes, and the first one ends. */
const silentAttachments = planWith(
  [
    { atSeconds: 90, replica: 0, fault: "watchStandsStill", kind: "mountpoints3podattachments" },
    { atSeconds: 100, replica: 0, fault: "volumeBecomes", volume: 0, what: "withOtherSecret" },
  ],
  {
    workloads: [
      { ...workload, livesSeconds: 70, end: "isDeletedByForce" },
      { ...workload, atSeconds: 95, livesSeconds: 5000 },
    ],
  },
);

const lateAttachments = {
  atSeconds: 53,
  replica: 0,
  fault: "watchIsLate",
  kind: "mountpoints3podattachments",
  bySeconds: 111,
  forSeconds: 60,
} as const;

/**
 * The leader does not see in time that it has written the attachment of the second workload. Its clock is wrong, so it takes every Mountpoint
 * Pod for an old one.
 */
function lateLeader(volumeBecomes: PlannedFault): Plan {
  return planWith([lateAttachments, volumeBecomes], {
    clocks: [
      { skewSeconds: -3600, drift: 0 },
      { skewSeconds: 0, drift: 0 },
    ],
    workloads: [
      { ...workload, atSeconds: 10, node: 1, livesSeconds: 5000 },
      { ...workload, atSeconds: 98, livesSeconds: 5000 },
    ],
  });
}

const volumeBecomes = { replica: 0, fault: "volumeBecomes", volume: 0 } as const;
const refusedWhileLate = lateLeader({ atSeconds: 132, ...volumeBecomes, what: "invalid" });
const otherOptionsWhileLate = lateLeader({ atSeconds: 100, ...volumeBecomes, what: "withOtherOptions" });

/** It neither lists anew nor reads what it has written. */
function trustLateWatches(): void {
  vi.spyOn(LateWatches.prototype, "add").mockReturnValue();
  vi.spyOn(UnconfirmedWrites.prototype, "add").mockReturnValue();
}

/** One replica does not see that the first workload has ended, and lists it whenever the other has released it. */
const replicasThatDisagree = planWith([{ ...late, atSeconds: 90 }], {
  hasElection: false,
  workloads: [
    { ...workload, livesSeconds: 100 },
    { ...workload, atSeconds: 40, livesSeconds: 5000 },
  ],
});

/** The claim is bound, and its volume gets other mount options, at the same moment: replicas may see only one of both at first. */
const replicasWithOtherOptions = planWith(
  [
    { atSeconds: 0, ...volumeBecomes, what: "withOtherOptions" },
    { atSeconds: 0, replica: 0, fault: "claimBecomes", volume: 0, what: "Pending" },
  ],
  {
    clocks: Array.from({ length: 3 }, () => ({ skewSeconds: 0, drift: 0 })),
    hasElection: false,
    workloads: longWorkloads,
  },
);

/** A patch with a version and nothing else asks whether the object still has that version. */
function confirmNothing(): void {
  const writerOf = Reflect.get(Term.prototype, "writer");
  vi.spyOn(Term.prototype, "writer").mockImplementation(function (this: Term, client) {
    const writer = writerOf.call(this, client);
    const patch: typeof writer.patch = (call, kind, ref, change) =>
      /^\{"metadata":\{"resourceVersion":"\d+"\}\}$/.test(JSON.stringify(change))
        ? Promise.resolve({} as never)
        : writer.patch(call, kind, ref, change);
    return { ...writer, patch };
  });
}

type Settle = (this: WorkQueue<string>, key: string, result: Outcome | Error) => void;

const defects = [
  {
    what: "SC-7 a leader that acts on caches older than its term",
    plan: lateStandby,
    putIn: () => {
      takeMissingForGone();
      vi.spyOn(Freshness.prototype, "renew").mockResolvedValue();
    },
    finds: "is detached and needs its volume",
  },
  {
    what: "SC-7 a detach because a late cache lacks a Pod",
    plan: lateReplica,
    putIn: takeMissingForGone,
    finds: "is detached and needs its volume",
  },
  {
    what: "SC-7 an unmount without a look at the attachment of now",
    plan: silentAttachments,
    putIn: () => {
      confirmNothing();
      trustLateWatches();
    },
    finds: "is to be unmounted, and",
  },
  {
    what: "SC-7 an unmount because a late cache lacks an attachment that this replica has written",
    plan: refusedWhileLate,
    putIn: trustLateWatches,
    finds: "is to be unmounted, and",
  },
  {
    what: "SC-7 a second attachment because a late cache lacks the one that this replica has written",
    plan: otherOptionsWhileLate,
    putIn: trustLateWatches,
    finds: "is listed twice",
  },
  {
    what: "LC-6 a former leader that makes the writes that it has decided on",
    plan: frozenBeforeAnnotation,
    putIn: () => {
      vi.spyOn(Term.prototype, "writer").mockImplementation((client) => client);
    },
    finds: "replica-0 writes while replica-1 leads",
  },
  {
    what: "LC-6 a leader that works on after its term",
    plan: frozenLeader,
    putIn: () => {
      vi.spyOn(Term.prototype, "end").mockReturnValue();
    },
    finds: "replica-0 writes while replica-1 leads",
  },
  {
    what: "LC-5 a new leader that looks only at what changes from then on",
    plan: endWithoutLeader,
    putIn: () => {
      vi.spyOn(WorkQueue.prototype, "addInBackground").mockReturnValue();
    },
    finds: "left behind",
  },
  {
    what: "DS-14 a node plugin that unmounts a source under its bind mounts",
    plan: annotatedByHand,
    putIn: () => {
      vi.spyOn(MountTable.prototype, "binds").mockReturnValue([]);
    },
    finds: "is unmounted under the bind mount",
  },
  {
    what: "LC-3 a node plugin that takes targets for orphaned by the annotation alone",
    plan: annotatedByHand,
    putIn: () => {
      vi.spyOn(Attachments.prototype, "isUnattached").mockReturnValue(true);
      vi.spyOn(Machine.prototype, "podsWithProcesses").mockReturnValue(new Set(["another-pod"]));
    },
    finds: "is unmounted under its container",
  },
  {
    what: "LC-1 a node plugin that does not heal containers",
    plan: deadMountS3,
    putIn: healNothing,
    finds: "is not served at rest",
  },
  {
    what: "LC-1 a node plugin that does not heal containers whose volume refers to another Secret by then",
    plan: deadMountS3OfOtherSecret,
    putIn: healNothing,
    finds: "is not served at rest",
  },
  {
    what: "a hot loop: a wait for a later time that is over at once",
    plan: deletedMountpointPod,
    putIn: () => {
      const settle = Reflect.get(WorkQueue.prototype, "settle") as Settle;
      vi.spyOn(WorkQueue.prototype, "settle").mockImplementation(function (this: WorkQueue<string>, key, result) {
        const isWait = !(result instanceof Error) && result.kind === "again";
        settle.call(this, key, isWait ? { ...result, afterMs: 0 } : result);
      });
    },
    finds: "timers in a minute",
  },
  {
    what: "SC-6 a hot loop: two replicas that undo each other's writes",
    plan: replicasThatDisagree,
    putIn: () => {
      vi.spyOn(KeyRateLimiter.prototype, "waitMs").mockReturnValue(0);
    },
    finds: "requests in a minute",
  },
];

describe("the simulation finds", () => {
  it.for(defects)("$what", async ({ plan: given, putIn, finds }) => {
    const plan = typeof given === "function" ? await given() : given;
    expect(await played(plan)).not.toEqual([]);
    putIn();
    await expect(played(plan)).rejects.toThrow(finds);
  });
});

it("LC-7 a workload that replicas have listed in two attachments is in one of them at rest", async () => {
  const story = await played(replicasWithOtherOptions);
  expect(story.filter((line) => line.includes("a workload was listed twice"))).not.toEqual([]);
});

it("SC-7 fresh caches alone keep a new leader from the detach", async () => {
  takeMissingForGone();
  expect(await played(lateStandby)).not.toEqual([]);
});
