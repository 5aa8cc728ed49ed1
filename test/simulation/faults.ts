/** Performs the faults of a plan, and ends those that last. */
import { annotations } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { durationMs as leaseDurationMs } from "../../src/kube/lease/lease-state.ts";
import type { ApiServer } from "./api-server.ts";
import type { Chance } from "./chance.ts";
import { putNode } from "./cluster-nodes.ts";
import { Installation } from "./installation.ts";
import type { SimulatedNode } from "./node.ts";
import type { PlannedFault } from "./plan.ts";
import { ofDriver } from "./pod-state.ts";
import type { Release } from "./release.ts";
import { lease, type Replica } from "./replica.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { putClaim, putVolume, volumeCount } from "./volumes.ts";

export interface Stage {
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly replicas: readonly Replica[];
  readonly nodes: readonly SimulatedNode[];
  readonly chance: Chance;
  readonly release: Release;
  readonly story: (line: string) => void;
}

type Of<Name extends PlannedFault["fault"]> = Extract<PlannedFault, { readonly fault: Name }>;

type Lasting = Extract<PlannedFault, { readonly forSeconds: number }>;
type OfNode = Of<"nodePluginCrashes" | "nodeWatchIsLate" | "nodeBecomes">;
type OfRelease = Of<"helmUpgrade" | "warmOwnerIsDeleted">;
type OfReplica = Exclude<Lasting, OfNode | OfRelease>;
type OfCluster = Of<
  "mountpointPod" | "compaction" | "leaseIsDeleted" | "attachmentIsDuplicated" | "volumeBecomes" | "claimBecomes"
>;
type Momentary = Exclude<PlannedFault, Lasting | OfCluster | OfRelease>;

export class Faults {
  readonly installation: Installation;
  readonly #stage: Stage;
  #isCalm = false;
  #leaseDeletedAtMs = -Infinity;
  #duplicates = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.installation = new Installation(stage);
  }

  /** Whether attachments have had duplicates. */
  get hasDuplicates(): boolean {
    return this.#duplicates > 0;
  }

  /**
   * Whether two replicas may lead for a moment: a replica that starts after the deletion of the lease cannot know that another held it, and
   * the other notices the deletion only with its next renewal.
   */
  get isLeaseUnsettled(): boolean {
    return this.#stage.time.nowMs - this.#leaseDeletedAtMs < leaseDurationMs;
  }

  begin(fault: PlannedFault): void {
    const { atSeconds: _at, ...rest } = fault;
    this.#stage.story(`fault ${JSON.stringify(rest)}`);
    const { replicas } = this.#stage;
    const replica = replicas[fault.replica % replicas.length];
    if (isOfCluster(fault)) this.#strike(fault);
    else if ("node" in fault) this.#strikeNode(fault);
    else if (fault.fault === "helmUpgrade") this.installation.upgrade(fault.to);
    else if (fault.fault === "warmOwnerIsDeleted") {
      this.installation.removeWarmOwner();
      this.#after(fault, () => this.installation.putWarmOwner());
    } else if (replica === undefined) return;
    else if ("forSeconds" in fault) this.#beginLasting(replica, fault);
    else befall(replica, fault);
  }

  /** Everything works again: replicas that have ended come back, and volumes are as they were. */
  endAll(): void {
    this.#isCalm = true;
    for (let index = 0; index < volumeCount; index += 1) {
      putVolume(this.#stage.server, index, "usual");
      putClaim(this.#stage.server, index, "Bound");
    }
    this.installation.mend();
    for (const { plugin, name } of this.#stage.nodes) {
      putNode(this.#stage.server, name, "usual");
      plugin.weather.clear();
      plugin.start();
    }
    for (const replica of this.#stage.replicas) {
      replica.weather.clear();
      replica.start();
    }
  }

  #strike(fault: OfCluster): void {
    const { server } = this.#stage;
    switch (fault.fault) {
      case "mountpointPod":
        return this.#harm(fault);
      case "compaction":
        return server.compact();
      case "leaseIsDeleted":
        this.#leaseDeletedAtMs = this.#stage.time.nowMs;
        return server.remove(kinds.leases, lease);
      case "attachmentIsDuplicated":
        return this.#duplicate(fault);
      case "volumeBecomes":
        return putVolume(server, fault.volume, fault.what);
      case "claimBecomes":
        return putClaim(server, fault.volume, fault.what);
      default:
        return fault satisfies never;
    }
  }

  #strikeNode(fault: OfNode): void {
    const { nodes, server } = this.#stage;
    const node = nodes[fault.node % nodes.length];
    if (node === undefined) return;
    const { plugin, name } = node;
    if (fault.fault === "nodePluginCrashes") {
      plugin.crash();
      this.#after(fault, () => plugin.start());
    } else if (fault.fault === "nodeBecomes") {
      putNode(server, name, fault.what);
      this.#after(fault, () => putNode(server, name, "usual"));
    } else {
      plugin.weather.setLateness(fault.kind, 1000 * fault.bySeconds);
      this.#after(fault, () => plugin.weather.setLateness(fault.kind, 0));
    }
  }

  #beginLasting(replica: Replica, fault: OfReplica): void {
    const { weather } = replica;
    switch (fault.fault) {
      case "crash":
        replica.crash();
        return this.#after(fault, () => replica.start());
      case "freeze":
        return replica.freeze(1000 * fault.forSeconds);
      case "watchIsLate":
        weather.setLateness(fault.kind, 1000 * fault.bySeconds);
        return this.#after(fault, () => weather.setLateness(fault.kind, 0));
      case "badRequests":
        weather.badness = fault.percent;
        return this.#after(fault, () => void (weather.badness = 0));
      case "slowRequests":
        weather.slowestMs = 1000 * fault.upToSeconds;
        return this.#after(fault, () => void (weather.slowestMs = 200));
      default:
        return fault satisfies never;
    }
  }

  #after({ forSeconds }: Lasting, end: () => void): void {
    this.#stage.time.after(1000 * forSeconds, () => {
      if (!this.#isCalm) end();
    });
  }

  #harm({ which, what, atSeconds }: Of<"mountpointPod">): void {
    const { server, nodes } = this.#stage;
    const pods = server.all(kinds.pods).filter((pod) => ofDriver(pod) !== undefined);
    const pod: Pod | undefined = pods[which % pods.length];
    if (pod === undefined) return;
    if (what === "isDeleted") server.delete(kinds.pods, pod.metadata, {});
    else if (what === "vanishes") server.remove(kinds.pods, pod.metadata);
    else if (what === "isAnnotatedByHand") {
      const set = { [annotations.needsUnmount]: "true" };
      server.patch(kinds.pods, pod.metadata, { metadata: { annotations: set } });
    } else if (what === "isToMove") {
      const set = { [annotations.move]: String(atSeconds) };
      server.patch(kinds.pods, pod.metadata, { metadata: { annotations: set } });
    } else if (what === "fails") server.patch(kinds.pods, pod.metadata, { status: { phase: "Failed" } });
    else nodes.find(({ name }) => name === pod.spec.nodeName)?.crash(pod);
  }

  /** As 2.x leaves them behind: a second attachment with the same key and lists. */
  #duplicate({ which }: Of<"attachmentIsDuplicated">): void {
    const { server } = this.#stage;
    const all = server.all(kinds.attachments);
    const attachment = all[which % all.length];
    if (attachment === undefined) return;
    this.#duplicates += 1;
    // Names decide which of two attachments of the same age is kept.
    const name = `s3pa-${this.#duplicates % 2 === 0 ? "0" : "z"}${this.#duplicates}`;
    server.create(kinds.attachments, { metadata: { name }, ...{ spec: attachment.spec } });
  }
}

function isOfCluster(fault: PlannedFault): fault is OfCluster {
  const { fault: name } = fault;
  return (
    [
      "mountpointPod",
      "compaction",
      "leaseIsDeleted",
      "attachmentIsDuplicated",
      "volumeBecomes",
      "claimBecomes",
    ] as const
  ).some((each) => each === name);
}

function befall(replica: Replica, fault: Momentary): void {
  switch (fault.fault) {
    case "stop":
      return replica.stop();
    case "clockJumps":
      return replica.moveWallClock(1000 * fault.bySeconds);
    case "watchStandsStill":
      return replica.standStill(fault.kind);
    case "cutStreams":
      return replica.cutStreams();
    default:
      return fault satisfies never;
  }
}
