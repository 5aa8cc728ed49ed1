/** One story: a cluster, its replicas of the reconciler and what a plan does to them; then calm, and the end of all workloads. */
import type { NodeName } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { ApiServer } from "./api-server.ts";
import { type AtRest, checkNothingLeft, checkServed, checkWaiting, workloadsIn } from "./at-rest.ts";
import { Chance } from "./chance.ts";
import { createNode } from "./cluster-nodes.ts";
import { Faults } from "./faults.ts";
import { collectGarbage } from "./garbage-collector.ts";
import { SimulatedNode } from "./node.ts";
import { busySeconds, type Killed, type Plan, type PlannedWorkload } from "./plan.ts";
import { firstRelease } from "./release.ts";
import { checkCounts, lease, Replica } from "./replica.ts";
import { Rules } from "./rules.ts";
import { VirtualTime } from "./virtual-time.ts";
import { createVolumes } from "./volumes.ts";

/** Longer than the lateness of any watch, the limits of the reconciler and the grace period of a Mountpoint Pod. */
const calmMs = 25 * 60_000;

/** Kubernetes deletes what has lost its owner, and requests that were on their way arrive. */
const leavingMs = 120_000;

const epochMs = Date.parse("2026-01-15T10:00:00Z");

export class World {
  readonly time = new VirtualTime();
  readonly story: string[] = [];
  readonly server: ApiServer;
  readonly nodes: readonly SimulatedNode[];
  readonly replicas: readonly Replica[];
  readonly #chance: Chance;
  readonly #plan: Plan;
  readonly #faults: Faults;
  readonly #steps = new Map<Killed, number>();

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#chance = new Chance(plan.seed);
    const { hasElection, hasWatchList, release = firstRelease } = plan;
    const leader = () => this.#leader();
    const now = () => new Date(epochMs + this.time.nowMs);
    const hasDuplicates = () => this.#faults.hasDuplicates;
    const isLeaseUnsettled = () => this.#faults.isLeaseUnsettled;
    const rules = new Rules({ hasElection, leader, hasDuplicates, isLeaseUnsettled, cluster: this, now });
    this.server = new ApiServer(now, (write) => {
      rules.check(write);
      const what = write.after === undefined ? "removed" : write.before === undefined ? "created" : "changed";
      const { name } = (write.after ?? write.before)?.metadata ?? {};
      if (
        write.by !== undefined &&
        write.kind.plural !== kinds.leases.plural &&
        write.kind.plural !== kinds.events.plural
      )
        this.#tell(`${write.kind.kind} ${name} ${what} by ${write.by.name}`);
    });
    const story = (line: string) => this.#tell(line);
    const shared = { server: this.server, chance: this.#chance, story };
    const ofNodes = { ...shared, time: this.time, now, hasWatchList };
    this.nodes = ["node-0", "node-1"].map((name, index) => {
      const onStep = this.#onStep("nodePlugin", index, () => this.nodes[index]?.plugin);
      return new SimulatedNode({ ...ofNodes, ...onStep, name: name as NodeName });
    });
    this.replicas = plan.clocks.map(
      (clock, index) =>
        new Replica({
          ...shared,
          time: this.time,
          name: `replica-${index}`,
          clock,
          leader,
          hasElection,
          hasWatchList,
          release,
          ...this.#onStep("replica", index, () => this.replicas[index]),
        }),
    );
    this.#faults = new Faults({ ...shared, time: this.time, replicas: this.replicas, nodes: this.nodes, release });
  }

  /** How many steps the first process of the first replica, or of the first node plugin, has made. */
  stepsOf(who: Killed): number {
    return this.#steps.get(who) ?? 0;
  }

  /** Throws a BrokenRule. */
  async play(): Promise<void> {
    const { workloads, faults } = this.#plan;
    this.#installCluster();
    for (const [index, planned] of workloads.entries()) this.#plans(planned, index);
    for (const fault of faults) this.time.after(1000 * fault.atSeconds, () => this.#faults.begin(fault));
    await this.time.runUntil(1000 * busySeconds);
    this.#tell("calm");
    this.#faults.endAll();
    await this.time.runUntil(this.time.nowMs + calmMs);
    this.#tell(`${checkServed(this.#atRest)} workloads are served`);
    checkWaiting(this.#atRest);
    this.#tell("all workloads end");
    for (const pod of workloadsIn(this.server)) this.server.delete(kinds.pods, pod.metadata, {});
    await this.time.runUntil(this.time.nowMs + calmMs);
    checkNothingLeft(this, "used");
    checkWaiting(this.#atRest);
    if (this.#plan.leaves !== undefined) await this.#leave(this.#plan.leaves);
  }

  get #atRest(): AtRest {
    return { server: this.server, nodes: this.nodes, release: this.#faults.installation.release };
  }

  async #leave(how: NonNullable<Plan["leaves"]>): Promise<void> {
    this.#tell(how);
    const { installation } = this.#faults;
    if (how === "rollback") installation.rollBack();
    else await installation.uninstall();
    await this.time.runUntil(this.time.nowMs + leavingMs);
    checkNothingLeft(this, "all");
  }

  #onStep(who: Killed, index: number, find: () => Killable | undefined) {
    if (index > 0) return {};
    const onStep = (step: number) => {
      this.#steps.set(who, step);
      const { crashAt } = this.#plan;
      if (crashAt?.who !== who || crashAt.step !== step) return;
      this.#tell(`before step ${step} of the first ${who}`);
      find()?.crash();
      // As kubelet does.
      this.time.after(10_000, () => find()?.start());
    };
    return { onStep };
  }

  #installCluster(): void {
    for (const { name } of this.nodes) {
      createNode(this.server, name);
      this.#syncLater(name);
    }
    for (const { plugin } of this.nodes) plugin.start();
    createVolumes(this.server);
    this.#faults.installation.putWarmOwner();
    this.#collectGarbage();
    for (const [index, replica] of this.replicas.entries()) this.time.after(2000 * index, () => replica.start());
    this.#checkEveryMinute();
  }

  #collectGarbage(): void {
    this.time.after(this.#chance.between("garbage collector", 100, 3000), () => {
      collectGarbage(this.server);
      this.#collectGarbage();
    });
  }

  #syncLater(name: NodeName): void {
    this.time.after(this.#chance.between(`pace of ${name}`, 300, 6000), () => {
      this.nodes.find((node) => node.name === name)?.sync();
      this.#syncLater(name);
    });
  }

  #checkEveryMinute(): void {
    this.time.after(60_000, () => {
      for (const replica of this.replicas) replica.checkMinute();
      for (const { name, plugin } of this.nodes) checkCounts(`the node plugin of ${name}`, plugin.takeCounts());
      this.#checkEveryMinute();
    });
  }

  #plans(planned: PlannedWorkload, index: number): void {
    const ref = { name: `app-${index}`, namespace: "shop" };
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: `claim-${planned.volume}` } }];
    const spec = {
      nodeName: `node-${planned.node}`,
      volumes,
      ...(planned.fsGroup > 0 && { securityContext: { fsGroup: planned.fsGroup } }),
    };
    this.time.after(1000 * planned.atSeconds, () => {
      const { metadata } = this.server.create(kinds.pods, {
        metadata: ref,
        spec,
        status: { phase: "Pending" },
      } as Named);
      this.#tell(
        `workload ${ref.name} (${metadata.uid}) comes to ${spec.nodeName} with ${volumes[0]?.persistentVolumeClaim.claimName}`,
      );
    });
    this.time.after(1000 * (planned.atSeconds + planned.livesSeconds), () => this.#ends(planned, ref));
  }

  #ends({ end, node }: PlannedWorkload, ref: { readonly name: string; readonly namespace: string }): void {
    this.#tell(`workload ${ref.name} ${end}`);
    const pod = this.server.get(kinds.pods, ref);
    if (pod === undefined) return;
    if (end === "isDeleted") this.server.delete(kinds.pods, ref, {});
    else if (end === "isDeletedByForce") this.server.remove(kinds.pods, ref);
    else this.nodes[node]?.complete(pod);
  }

  #leader(): string | undefined {
    return this.server.get(kinds.leases, lease)?.spec?.holderIdentity ?? undefined;
  }

  #tell(line: string): void {
    this.story.push(`${(this.time.nowMs / 1000).toFixed(3)} s  ${line}`);
  }
}

type Named = { readonly metadata: { readonly name: string } };

interface Killable {
  crash(): void;
  start(): void;
}
