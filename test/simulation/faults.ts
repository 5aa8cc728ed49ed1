/** Performs the faults of a plan, and ends those that last. */
import { mountpointPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import type { SimulatedNode } from "./node.ts";
import type { PlannedFault } from "./plan.ts";
import { lease, type Replica } from "./replica.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Stage {
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly replicas: readonly Replica[];
  readonly nodes: readonly SimulatedNode[];
  readonly story: (line: string) => void;
}

type Of<Name extends PlannedFault["fault"]> = Extract<PlannedFault, { readonly fault: Name }>;

type Lasting = Extract<PlannedFault, { readonly forSeconds: number }>;
type Momentary = Exclude<PlannedFault, Lasting | Of<"mountpointPod" | "compaction" | "leaseIsDeleted">>;

export class Faults {
  readonly #stage: Stage;
  #isCalm = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  begin(fault: PlannedFault): void {
    const { atSeconds: _at, ...rest } = fault;
    this.#stage.story(`fault ${JSON.stringify(rest)}`);
    const { replicas, server } = this.#stage;
    const replica = replicas[fault.replica % replicas.length];
    if (fault.fault === "mountpointPod") this.#harm(fault);
    else if (fault.fault === "compaction") server.compact();
    else if (fault.fault === "leaseIsDeleted") server.remove(kinds.leases, lease);
    else if (replica === undefined) return;
    else if ("forSeconds" in fault) this.#beginLasting(replica, fault);
    else befall(replica, fault);
  }

  /** Everything works again: replicas that have ended come back. */
  endAll(): void {
    this.#isCalm = true;
    for (const replica of this.#stage.replicas) {
      replica.weather.clear();
      replica.start();
    }
  }

  #beginLasting(replica: Replica, fault: Lasting): void {
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

  #harm({ which, what }: Of<"mountpointPod">): void {
    const { server, nodes } = this.#stage;
    const pods = server.all(kinds.pods).filter((pod) => mountpointPodFrom(pod) !== undefined);
    const pod: Pod | undefined = pods[which % pods.length];
    if (pod === undefined) return;
    if (what === "isDeleted") server.delete(kinds.pods, pod.metadata, {});
    else if (what === "vanishes") server.remove(kinds.pods, pod.metadata);
    else if (what === "fails") server.patch(kinds.pods, pod.metadata, { status: { phase: "Failed" } });
    else nodes.find(({ name }) => name === pod.spec.nodeName)?.crash(pod);
  }
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
