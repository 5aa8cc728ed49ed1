/** What happens in one story: fast-check makes it, shortens it when a rule is broken, and prints it. */
import * as fc from "fast-check";
import type { NodeCondition } from "./cluster-nodes.ts";
import { type Release, releases } from "./release.ts";

export interface Plan {
  /** Of everything that the plan does not say: latencies, times of kubelets, fates of requests. */
  readonly seed: number;
  readonly clocks: readonly ReplicaClock[];
  readonly hasElection: boolean;
  readonly hasWatchList: boolean;
  readonly workloads: readonly PlannedWorkload[];
  readonly faults: readonly PlannedFault[];
  /** undefined: no rollout, and no Mountpoint Pods that wait. */
  readonly release?: Release;
  /** How the driver leaves the cluster at the end, when Mountpoint Pods wait for volumes. */
  readonly leaves?: "uninstallation" | "rollback";
  /** The first replica, or the first node plugin, is killed right before this step of its first process. */
  readonly crashAt?: { readonly who: Killed; readonly step: number };
}

export type Killed = "replica" | "nodePlugin";

export interface ReplicaClock {
  readonly skewSeconds: number;
  readonly drift: number;
}

export interface PlannedWorkload {
  readonly atSeconds: number;
  readonly node: number;
  readonly volume: number;
  readonly fsGroup: 0 | 2000;
  readonly livesSeconds: number;
  readonly end: "isDeleted" | "isDeletedByForce" | "completes";
}

export type PlannedFault = { readonly atSeconds: number; readonly replica: number } & (
  | { readonly fault: "crash"; readonly forSeconds: number }
  | { readonly fault: "stop" }
  | { readonly fault: "freeze"; readonly forSeconds: number }
  | { readonly fault: "clockJumps"; readonly bySeconds: number }
  | { readonly fault: "watchStandsStill"; readonly kind: WatchedKind }
  | {
      readonly fault: "watchIsLate";
      readonly kind: WatchedKind;
      readonly bySeconds: number;
      readonly forSeconds: number;
    }
  | { readonly fault: "badRequests"; readonly percent: number; readonly forSeconds: number }
  | { readonly fault: "slowRequests"; readonly upToSeconds: number; readonly forSeconds: number }
  | { readonly fault: "cutStreams" }
  | { readonly fault: "compaction" }
  | { readonly fault: "leaseIsDeleted" }
  | {
      readonly fault: "mountpointPod";
      readonly which: number;
      readonly what: "crashes" | "fails" | "isDeleted" | "vanishes" | "isAnnotatedByHand" | "isToMove";
    }
  | { readonly fault: "attachmentIsDuplicated"; readonly which: number }
  | { readonly fault: "volumeBecomes"; readonly volume: number; readonly what: VolumeState }
  | { readonly fault: "nodePluginCrashes"; readonly node: number; readonly forSeconds: number }
  | {
      readonly fault: "nodeWatchIsLate";
      readonly node: number;
      readonly kind: WatchedKind;
      readonly bySeconds: number;
      readonly forSeconds: number;
    }
  | { readonly fault: "claimBecomes"; readonly volume: number; readonly what: "Bound" | "Pending" }
  | { readonly fault: "helmUpgrade"; readonly to: Release }
  | {
      readonly fault: "nodeBecomes";
      readonly node: number;
      readonly what: NodeCondition;
      readonly forSeconds: number;
    }
  | { readonly fault: "warmOwnerIsDeleted"; readonly forSeconds: number }
);

/** "gone": there is no PersistentVolume. */
export type VolumeState = "usual" | "withOtherOptions" | "withOtherSecret" | "invalid" | "gone";

export type WatchedKind = "pods" | "mountpoints3podattachments" | "persistentvolumes" | "persistentvolumeclaims";

/** Faults and new workloads come within this time. */
export const busySeconds = 1200;

const atSeconds = fc.nat(busySeconds);
const forSeconds = fc.integer({ min: 1, max: 600 });
// Pods and attachments are where lateness matters most.
const kind = fc.constantFrom<WatchedKind>(
  ...(["pods", "pods", "pods", "mountpoints3podattachments", "mountpoints3podattachments"] as const),
  ...(["persistentvolumes", "persistentvolumeclaims"] as const),
);
const always = { atSeconds, replica: fc.nat(2) };

const lateWatch: fc.Arbitrary<PlannedFault> = fc.record({
  ...always,
  fault: fc.constant("watchIsLate" as const),
  kind,
  bySeconds: fc.integer({ min: 1, max: 900 }),
  forSeconds,
});

const crash: fc.Arbitrary<PlannedFault> = fc.record({
  ...always,
  fault: fc.constant("crash" as const),
  forSeconds: fc.nat(60),
});

const stop: fc.Arbitrary<PlannedFault> = fc.record({ ...always, fault: fc.constant("stop" as const) });

const fault: fc.Arbitrary<PlannedFault> = fc.oneof(
  // A new leader with late caches is what most rules are about.
  { weight: 3, arbitrary: lateWatch },
  { weight: 2, arbitrary: crash },
  { weight: 2, arbitrary: stop },
  fc.record({ ...always, fault: fc.constant("freeze" as const), forSeconds: fc.integer({ min: 1, max: 120 }) }),
  fc.record({ ...always, fault: fc.constant("clockJumps" as const), bySeconds: fc.integer({ min: -7200, max: 7200 }) }),
  fc.record({ ...always, fault: fc.constant("watchStandsStill" as const), kind }),
  fc.record({
    ...always,
    fault: fc.constant("badRequests" as const),
    percent: fc.constantFrom(5, 20, 50, 100),
    forSeconds,
  }),
  fc.record({
    ...always,
    fault: fc.constant("slowRequests" as const),
    upToSeconds: fc.integer({ min: 1, max: 60 }),
    forSeconds,
  }),
  fc.record({
    ...always,
    fault: fc.constant("nodePluginCrashes" as const),
    node: fc.nat(1),
    forSeconds: fc.integer({ min: 1, max: 120 }),
  }),
  fc.record({
    ...always,
    fault: fc.constant("nodeWatchIsLate" as const),
    node: fc.nat(1),
    // What a node plugin watches.
    kind: fc.constantFrom("pods" as const, "mountpoints3podattachments" as const),
    bySeconds: fc.integer({ min: 1, max: 120 }),
    forSeconds,
  }),
  fc.record({ ...always, fault: fc.constant("cutStreams" as const) }),
  fc.record({ ...always, fault: fc.constant("compaction" as const) }),
  fc.record({ ...always, fault: fc.constant("leaseIsDeleted" as const) }),
  fc.record({
    ...always,
    fault: fc.constant("mountpointPod" as const),
    which: fc.nat(7),
    what: fc.constantFrom(
      ...(["crashes", "fails", "isDeleted", "vanishes", "isAnnotatedByHand", "isToMove", "isToMove"] as const),
    ),
  }),
  fc.record({
    ...always,
    fault: fc.constant("attachmentIsDuplicated" as const),
    which: fc.nat(7),
  }),
  fc.record({
    ...always,
    fault: fc.constant("volumeBecomes" as const),
    volume: fc.nat(1),
    what: fc.constantFrom(...(["usual", "withOtherOptions", "withOtherSecret", "invalid", "gone"] as const)),
  }),
  fc.record({
    ...always,
    fault: fc.constant("claimBecomes" as const),
    volume: fc.nat(1),
    what: fc.constantFrom("Bound" as const, "Pending" as const),
  }),
);

const faultOfReleases: fc.Arbitrary<PlannedFault> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...always, fault: fc.constant("helmUpgrade" as const), to: releases }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...always,
      fault: fc.constant("nodeBecomes" as const),
      node: fc.nat(1),
      what: fc.constantFrom("cordoned" as const, "underPressure" as const, "notReady" as const, "full" as const),
      forSeconds,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ ...always, fault: fc.constant("warmOwnerIsDeleted" as const), forSeconds }),
  },
);

const workload: fc.Arbitrary<PlannedWorkload> = fc.record({
  atSeconds,
  node: fc.nat(1),
  volume: fc.nat(1),
  fsGroup: fc.constantFrom(0 as const, 2000 as const),
  // Some live until the end of the story: only those are there when the simulation checks who is served.
  livesSeconds: fc.oneof(fc.integer({ min: 1, max: 1200 }), fc.constant(100_000)),
  end: fc.constantFrom("isDeleted" as const, "isDeleted" as const, "isDeletedByForce" as const, "completes" as const),
});

/** There from early on and until the end, so that a rollout has something to move. */
const longWorkload: fc.Arbitrary<PlannedWorkload> = fc.record({
  atSeconds: fc.nat(300),
  node: fc.nat(1),
  volume: fc.nat(1),
  fsGroup: fc.constantFrom(0 as const, 2000 as const),
  livesSeconds: fc.constant(100_000),
  end: fc.constant("isDeleted" as const),
});

const clock: fc.Arbitrary<ReplicaClock> = fc.record({
  // Beyond 25 days a wait does not fit into a timer of Node.
  skewSeconds: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: -3600, max: 3600 }) },
    { weight: 1, arbitrary: fc.constantFrom(-4_000_000, 4_000_000) },
  ),
  drift: fc.constantFrom(0, 0.001, -0.001),
});

interface Kind extends Pick<Plan, "hasElection"> {
  /** Whether the driver is upgraded, rolls Mountpoint Pods, and keeps some that wait. */
  readonly hasReleases?: boolean;
}

export function plans({ hasElection, hasReleases = false }: Kind): fc.Arbitrary<Plan> {
  const faults = hasReleases ? fc.oneof({ weight: 2, arbitrary: fault }, faultOfReleases) : fault;
  return fc.record({
    seed: fc.noShrink(fc.nat()),
    clocks: fc.array(clock, { minLength: 2, maxLength: 3 }),
    hasElection: fc.constant(hasElection),
    hasWatchList: fc.boolean(),
    workloads: fc.array(hasReleases ? fc.oneof(workload, longWorkload) : workload, {
      ...{ minLength: hasReleases ? 4 : 1, maxLength: 8, size: "max" },
    }),
    faults: fc.array(faults, { maxLength: 16, size: "max" }),
    ...(hasReleases && {
      release: releases,
      leaves: fc.constantFrom("uninstallation" as const, "rollback" as const),
    }),
  });
}
