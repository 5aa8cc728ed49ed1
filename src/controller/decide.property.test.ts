import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isAlive } from "../core/mountpoint-pod-state.ts";
import type { PodUid } from "../core/names.ts";
import { needsVolumes } from "../core/workload.ts";
import { type Kind, PlaceModel } from "./place-model.fixture.ts";

const which = fc.nat(7);

/** What can happen to one volume on one node, in any order. */
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ it: fc.constant("comes" as const), fsGroup: fc.constantFrom("", "2000") }) },
  { weight: 3, arbitrary: fc.record({ it: fc.constant("ends" as const), which }) },
  { weight: 2, arbitrary: fc.record({ it: fc.constantFrom("runs" as const, "terminates" as const), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      it: fc.constantFrom("starts" as const, "unmounts" as const, "dies" as const, "vanishes" as const),
      which,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      it: fc.constant("is told" as const),
      kind: fc.constantFrom<Kind>("workloads", "attachments", "mountpointPods"),
      count: fc.constantFrom(1, 2, Infinity),
    }),
  },
  { weight: 8, arbitrary: fc.record({ it: fc.constant("is reconciled" as const) }) },
  // Without this, most stories would be of a reconciler that knows nothing.
  { weight: 6, arbitrary: fc.record({ it: fc.constant("is reconciled in full knowledge" as const) }) },
  { weight: 3, arbitrary: fc.record({ it: fc.constant("crashes" as const), before: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ it: fc.constant("waits" as const), ms: fc.nat(300_000) }) },
);

type Happening = typeof happening extends fc.Arbitrary<infer Value> ? Value : never;

class World {
  readonly model = new PlaceModel();
  /** Workload → the Mountpoint Pod its bind mount belongs to: the node unmounts no source with binds. */
  readonly #binds = new Map<PodUid, string>();
  #count = 0;

  happen(one: Happening): void {
    const { model } = this;
    switch (one.it) {
      case "comes":
        this.#count += 1;
        return model.come(`w${this.#count}` as PodUid, one.fsGroup);
      case "ends":
      case "runs":
      case "terminates":
        return this.#workload(one.it, one.which);
      case "starts":
      case "unmounts":
      case "dies":
      case "vanishes":
        return this.#mountpointPod(one.it, one.which);
      case "is told":
        return model.tell(one.kind, one.count);
      case "is reconciled":
        return void model.reconcile();
      case "is reconciled in full knowledge":
        model.tellAll();
        return void model.reconcile();
      case "crashes":
        return void model.reconcile(one.before);
      case "waits":
        return model.wait(one.ms);
      default:
        return one satisfies never;
    }
  }

  end(uid: PodUid): void {
    this.#binds.delete(uid);
    this.model.remove("workloads", uid);
  }

  /** The node's part in the end of a Mountpoint Pod. */
  unmountAll(): void {
    const count = this.model.truth.mountpointPods.size;
    for (let each = 0; each < count; each++) this.#mountpointPod("unmounts", each);
  }

  #workload(it: "ends" | "runs" | "terminates", index: number): void {
    const all = [...this.model.truth.workloads.values()];
    const workload = all[index % all.length];
    if (workload === undefined) return;
    const { uid } = workload;
    if (it === "ends") return this.end(uid);
    if (it === "terminates") return this.model.put("workloads", uid, { ...workload, terminating: true });
    const [holder = ""] = this.model.holdersOf(uid);
    const pod = this.model.truth.mountpointPods.get(holder);
    if (workload.terminating || pod?.phase !== "running" || pod.needsUnmount) return;
    this.#binds.set(uid, holder);
    this.model.put("workloads", uid, { ...workload, phase: "running" });
  }

  #mountpointPod(it: "starts" | "unmounts" | "dies" | "vanishes", index: number): void {
    const all = [...this.model.truth.mountpointPods.values()];
    const pod = all[index % all.length];
    if (pod === undefined) return;
    const bound = [...this.#binds.values()].includes(pod.name);
    if (it === "starts" && pod.phase === "pending") this.model.change(pod.name, { phase: "running" });
    if (it === "unmounts" && pod.phase === "running" && pod.needsUnmount && !bound) {
      this.model.change(pod.name, { phase: "succeeded" });
    }
    if (it === "dies") this.model.change(pod.name, { phase: "failed" });
    if (it === "vanishes") this.model.remove("mountpointPods", pod.name);
  }
}

/** Everything is told and done, until there is nothing more to do. */
function settle(world: World): void {
  for (let round = 0; round < 100; round++) {
    world.model.tellAll();
    if (world.model.reconcile()) return;
  }
  throw new Error("it never comes to rest");
}

function expectEveryoneServed({ model }: World): void {
  for (const workload of [...model.truth.workloads.values()].filter(needsVolumes)) {
    const holders = model.holdersOf(workload.uid);
    expect(holders).toHaveLength(1);
    const pod = model.truth.mountpointPods.get(holders[0] ?? "");
    expect(pod && isAlive(pod) && !pod.needsUnmount).toBe(true);
  }
}

it("serves every workload once and leaves nothing behind, whatever happens in whatever order", () => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 40, maxLength: 120, size: "max" }), (story) => {
      const world = new World();
      // The model itself throws when a write breaks a rule.
      for (const one of story) world.happen(one);
      settle(world);
      expectEveryoneServed(world);

      for (const uid of [...world.model.truth.workloads.keys()]) world.end(uid as PodUid);
      for (let round = 0; round < 4; round++) {
        settle(world);
        world.unmountAll();
        world.model.wait(120_000);
      }
      expect(world.model.truth).toEqual({ workloads: new Map(), attachments: new Map(), mountpointPods: new Map() });
    }),
    { numRuns: 1000 },
  );
});
