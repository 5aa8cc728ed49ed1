import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isAlive, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import type { PodUid } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { isUnreported, needsVolumes, type Workload } from "../domain/workload.ts";
import { checkAttachments } from "./model-rules.fixture.ts";
import { kinds } from "./replica.fixture.ts";
import { accounts, ofAccounts, ofSecret } from "./situation.fixture.ts";
import type { VolumeOnNodeModel } from "./volume-on-node-model.fixture.ts";
import { World } from "./world.fixture.ts";

/** Something that happens to one volume on one node. */
type Happening = (world: World) => void;

/** fast-check prints a failing story with these descriptions. */
function named(what: string, happens: Happening): Happening {
  return Object.assign(happens, { [fc.toStringMethod]: () => what });
}

/** One of the values that exist when the event happens. */
function any<Value>(values: ReadonlyMap<string, Value>, which: number): readonly Value[] {
  return [...values.values()].slice(which % values.size).slice(0, 1);
}

const toWorkload = (what: "ends" | "terminates" | "runs" | "startsContainer" | "reports" | "vanishesFromApi") =>
  fc.nat(7).map((which) =>
    named(`${what} workload ${which}`, (world) => {
      for (const each of any(world.model.truth.workloads, which)) world[what](each);
    }),
  );

type ToMountpointPod =
  | "starts"
  | "findsNoRoom"
  | "crashes"
  | "isAnnotatedByHand"
  | "crashesAnnotated"
  | "exitsCleanly"
  | "backsOff"
  | "isRestarted"
  | "isDeleted"
  | "unmounts"
  | "dies"
  | "vanishes";

const toMountpointPod = (what: ToMountpointPod) =>
  fc.nat(7).map((which) =>
    named(`${what} Mountpoint Pod ${which}`, (world) => {
      for (const each of any(world.model.truth.mountpointPods, which)) world[what](each);
    }),
  );

const duplicates = fc.tuple(fc.nat(3), fc.constantFrom("both", "either")).map(([which, keep]) =>
  named(`split attachment ${which}, keep ${keep}`, (world) => {
    for (const each of any(world.model.truth.attachments, which)) world.model.split(each, keep);
  }),
);

const kind = fc.constantFrom(...kinds);

const happenings = [
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("", "2000")
      .map((fsGroup) => named(`a workload comes with fsGroup "${fsGroup}"`, (world) => world.comes({ fsGroup }))),
  },
  { weight: 5, arbitrary: toWorkload("ends") },
  { weight: 2, arbitrary: fc.oneof(toWorkload("runs"), toWorkload("terminates")) },
  { weight: 2, arbitrary: fc.oneof(toWorkload("startsContainer"), toWorkload("reports")) },
  { weight: 1, arbitrary: toWorkload("vanishesFromApi") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      named("ghosts end", (world) => world.ghostsEnd()),
      named("the node reports", ({ model }) => model.reportSources()),
    ),
  },
  { weight: 2, arbitrary: fc.oneof(toMountpointPod("starts"), toMountpointPod("unmounts")) },
  { weight: 2, arbitrary: fc.oneof(toMountpointPod("dies"), toMountpointPod("vanishes")) },
  { weight: 1, arbitrary: toMountpointPod("exitsCleanly") },
  { weight: 2, arbitrary: fc.oneof(toMountpointPod("findsNoRoom"), toMountpointPod("isDeleted")) },
  {
    weight: 2,
    arbitrary: fc.oneof(toMountpointPod("crashes"), toMountpointPod("backsOff"), toMountpointPod("isRestarted")),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(kind, fc.constantFrom(1, 2, Infinity))
      .map(([of, count]) => named(`deliver ${count} of ${of}`, ({ model }) => model.deliver(of, count))),
  },
  { weight: 8, arbitrary: fc.constant(named("reconcile", ({ model }) => void model.reconcile())) },
  // Without this, most stories would be about a reconciler with empty caches.
  {
    weight: 6,
    arbitrary: fc.constant(
      named("deliver all, reconcile", ({ model }) => {
        model.deliverAll();
        model.reconcile();
      }),
    ),
  },
  // A request fails in the middle of the steps.
  {
    weight: 4,
    arbitrary: fc.nat(2).map((step) => named(`reconcile ${step} steps`, ({ model }) => void model.reconcile(step))),
  },
  // The reconciler dies in the middle of the steps; its successor lists everything.
  {
    weight: 3,
    arbitrary: fc.nat(2).map((step) =>
      named(`reconcile ${step} steps, deliver all`, ({ model }) => {
        model.reconcile(step);
        model.deliverAll();
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(900_000).map((ms) => named(`wait ${ms} ms`, ({ model }) => model.wait(ms))),
  },
];

/** Delivers everything and reconciles, until there is nothing more to do. */
function settle(world: World): void {
  for (let round = 0; round < 100; round++) {
    world.model.deliverAll();
    world.model.findMissing();
    if (world.model.reconcile()) return;
  }
  throw new Error("the reconciler never comes to rest");
}

/** A lagging view or an operator may have caused the annotation of a serving Mountpoint Pod: the bind mounts keep a running workload. */
function isKept(model: VolumeOnNodeModel, workload: Workload, pod: MountpointPod): boolean {
  return workload.phase === "running" && (model.hasForeignAnnotations || pod.terminating);
}

/** It will not serve again soon: kubelet backs off or does not restart it, or the node plugin sends it no options any more. */
function isAbandoned({ problem, needsUnmount }: ReportedMountpointPod): boolean {
  if (problem?.kind === "crashing") return needsUnmount;
  return problem?.kind === "backingOff" || problem?.kind === "ended";
}

function expectEveryoneServed({ model }: World): void {
  const needing = [...model.truth.workloads.values()].filter(needsVolumes);
  // A workload that is being deleted before kubelet has reported a container keeps its Mountpoint Pod, and gets no other.
  for (const workload of needing.filter((each) => !isUnreported(each))) {
    const holders = model.holdersOf(workload.uid);
    expect(holders).toHaveLength(1);
    const pod = model.truth.mountpointPods.get(holders[0] ?? "");
    expect(pod && isAlive(pod) && (!pod.needsUnmount || isKept(model, workload, pod))).toBe(true);
    // LC-2: a Mountpoint Pod that is being deleted serves only workloads that are being deleted, too.
    expect(pod?.terminating && !workload.terminating).not.toBe(true);
    expect(pod && workload.phase === "running" && isAbandoned(pod)).not.toBe(true);
  }
}

function play(story: readonly Happening[]): void {
  const world = new World();
  // The model itself throws when a write breaks a rule.
  for (const happens of story) happens(world);
  world.isBound();
  world.volumeBecomes({});
  settle(world);
  expectEveryoneServed(world);
  checkAttachments(world.model);

  for (const workload of [...world.model.truth.workloads.values()]) world.ends(workload);
  world.ghostsEnd();
  for (let round = 0; round < 4; round++) {
    // A node plugin that has reported goes on to do so: of what it said last, the reconciler could not know that it is over.
    if ([...world.model.truth.attachments.values()].some(({ sources }) => sources !== undefined)) {
      world.model.reportSources();
    }
    settle(world);
    for (const pod of [...world.model.truth.mountpointPods.values()]) world.unmounts(pod);
    for (const pod of [...world.model.truth.mountpointPods.values()]) world.removes(pod);
    world.model.wait(120_000);
  }
  const { workloads, attachments, mountpointPods } = world.model.truth;
  expect([...workloads.keys(), ...attachments.keys(), ...mountpointPods.keys()]).toEqual([]);
}

const stories = (...possible: typeof happenings) =>
  fc.array(fc.oneof(...possible), { minLength: 60, maxLength: 120, size: "max" });

it("serves every workload once and leaves nothing behind, whatever happens in whatever order", {
  timeout: 240_000,
}, () => {
  fc.assert(fc.property(stories(...happenings), play), { numRuns: 1000 });
});

it("does so, too, where attachments have duplicates", { timeout: 240_000 }, () => {
  fc.assert(fc.property(stories(...happenings, { weight: 3, arbitrary: duplicates }), play), { numRuns: 1000 });
});

it("ID-1 does so, too, where two accounts use the volume and attachments lose theirs: none gets the credentials of another", {
  timeout: 240_000,
}, () => {
  const account = fc.constantFrom(...accounts.map(({ name }) => name));
  const ofAccount = [
    {
      weight: 12,
      arbitrary: account.map((name) =>
        named(`a workload of account ${name} comes`, (world) => world.comes({ fsGroup: "", account: name })),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.nat(3).map((which) =>
        named(`attachment ${which} loses its account`, ({ model }) => {
          for (const each of any(model.truth.attachments, which)) model.loseAccount(each);
        }),
      ),
    },
  ];
  const begins = named("the volume has credentials for accounts", (world) =>
    world.usually({ credentials: ofAccounts }),
  );
  const all = stories(...happenings, ...ofAccount).map((story) => [begins].concat(story));
  fc.assert(fc.property(all, play), { numRuns: 500 });
});

it("does so, too, where a standby with another view takes over", {
  timeout: 240_000,
}, () => {
  const handOver = fc.constant(named("take over", ({ model }) => model.takeOver()));
  const deliveries = fc
    .tuple(kind, fc.constantFrom(1, 2, Infinity))
    .map(([of, count]) =>
      named(`deliver to the standby ${count} of ${of}`, ({ model }) => model.deliverToStandby(of, count)),
    );
  const replicas = [
    { weight: 3, arbitrary: handOver },
    { weight: 10, arbitrary: deliveries },
  ];
  fc.assert(fc.property(stories(...happenings, ...replicas), play), { numRuns: 1000 });
});

it("does so, too, where the claim is bound late and unbound, and the volume created late, edited, made invalid and deleted", {
  timeout: 240_000,
}, () => {
  const edits = fc.constantFrom({}, { mountOptions: ["allow-delete"] }, { credentials: ofSecret }, "refused" as const);
  const changes = [
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        named("the claim is unbound", (world) => world.isUnbound()),
        named("the volume goes", (world) => world.volumeGoes()),
      ),
    },
    { weight: 3, arbitrary: fc.constant(named("the claim is bound", (world) => world.isBound())) },
    {
      weight: 4,
      arbitrary: edits.map((but) =>
        named(`the volume becomes ${JSON.stringify(but)}`, (world) => world.volumeBecomes(but)),
      ),
    },
  ];
  fc.assert(fc.property(stories(...happenings, ...changes), play), { numRuns: 1000 });
});

it("DS-14 lists a workload that is being deleted on its own Mountpoint Pod, which lost its claim and was annotated as orphaned", () => {
  const world = new World();
  const { model } = world;
  world.comes({ fsGroup: "" });
  model.deliverAll();
  model.reconcile(1); // creates the Mountpoint Pod, and dies before it writes the attachment
  world.isUnbound();
  for (const pod of model.truth.mountpointPods.values()) world.starts(pod);
  model.wait(120_000);
  model.deliverAll();
  model.reconcile();
  expect([...model.truth.mountpointPods.values()]).toMatchObject([{ needsUnmount: true, createdFor: "w1" }]);

  world.isBound();
  for (const workload of model.truth.workloads.values()) world.terminates(workload);
  settle(world);
  expect(model.holdersOf("w1" as PodUid)).toEqual([...model.truth.mountpointPods.keys()]);

  // It has no bind mount, so its node unmounts the source at once, and its end leaves nothing behind.
  for (const pod of [...model.truth.mountpointPods.values()]) world.unmounts(pod);
  settle(world);
  for (const workload of [...model.truth.workloads.values()]) world.ends(workload);
  settle(world);
  expect([...model.truth.attachments.keys(), ...model.truth.mountpointPods.keys()]).toEqual([]);
});

it("does so, too, where an operator annotates Mountpoint Pods by hand, and some of them crash", {
  timeout: 240_000,
}, () => {
  const annotations = [
    { weight: 4, arbitrary: fc.oneof(toMountpointPod("isAnnotatedByHand"), toMountpointPod("crashesAnnotated")) },
    // Without these, few workloads would run by the time of an annotation.
    { weight: 6, arbitrary: fc.oneof(toMountpointPod("starts"), toWorkload("runs")) },
  ];
  fc.assert(fc.property(stories(...happenings, ...annotations), play), { numRuns: 500 });
});

it("DS-14 does so, too, where kubelet reports late and Pods are deleted by force: no bind mount loses its server to a time limit", {
  timeout: 240_000,
}, () => {
  const late = [
    { weight: 6, arbitrary: toMountpointPod("starts") },
    { weight: 8, arbitrary: fc.oneof(toWorkload("startsContainer"), toWorkload("terminates"), toWorkload("reports")) },
    { weight: 4, arbitrary: toWorkload("vanishesFromApi") },
    {
      weight: 10,
      arbitrary: fc.constantFrom(0, 600_000).map((ms) =>
        named(`the node reports, wait ${ms} ms, deliver all, reconcile`, ({ model }) => {
          model.reportSources();
          model.wait(ms);
          model.deliverAll();
          model.reconcile();
        }),
      ),
    },
  ];
  fc.assert(fc.property(stories(...happenings, ...late), play), { numRuns: 1000 });
});
