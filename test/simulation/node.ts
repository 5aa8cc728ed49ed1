/** A node: scheduler and kubelet, which look at the API server now and then, a machine, and the node plugin. */
import type { NodeName, PodName, PodUid } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { Chance } from "./chance.ts";
import { isReady } from "./cluster-nodes.ts";
import { Containers } from "./containers.ts";
import { Machine } from "./machine.ts";
import { NodePlugin } from "./node-plugin.ts";
import { ofDriver, uidOf } from "./pod-state.ts";
import { releaseNamespace } from "./release.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { Workloads } from "./workloads.ts";

export interface NodeOptions {
  readonly server: ApiServer;
  readonly chance: Chance;
  readonly time: VirtualTime;
  readonly name: NodeName;
  readonly now: () => Date;
  readonly hasWatchList: boolean;
  readonly story: (line: string) => void;
  /** Called before every step of the first process of the node plugin. */
  readonly onStep?: (step: number) => void;
}

export class SimulatedNode {
  readonly name: NodeName;
  readonly machine: Machine;
  readonly plugin: NodePlugin;
  readonly #server: ApiServer;
  readonly #containers: Containers;
  readonly #workloads: Workloads;

  constructor(options: NodeOptions) {
    const { time, name, server, chance } = options;
    this.name = name;
    this.#server = server;
    this.machine = new Machine((what) => {
      // Not here: the program would handle it like an error of its own.
      time.after(0, () => {
        throw new BrokenRule(`${name}: ${what}`);
      });
    });
    this.plugin = new NodePlugin({ ...options, node: name, machine: this.machine });
    const happens = (probability: number) => chance.happens(`node ${name}`, probability);
    const shared = { ...options, machine: this.machine, happens };
    this.#containers = new Containers(shared);
    this.#workloads = new Workloads({ ...shared, plugin: this.plugin });
  }

  get binds(): ReadonlyMap<PodUid, PodName> {
    return this.machine.binds;
  }

  hasBinds(mountpointPod: string): boolean {
    return [...this.binds.values()].some((name) => name === mountpointPod);
  }

  sync(): void {
    if (!isReady(this.#server, this.name)) return;
    const pods = this.#server.all(kinds.pods).filter(({ metadata }) => metadata.namespace !== releaseNamespace);
    const { ours = [], others = [] } = Object.groupBy(pods, (pod) => (ofDriver(pod) ? "ours" : "others"));
    this.#containers.sync(ours.filter((pod) => ofDriver(pod)?.node === this.name));
    this.#workloads.sync(others.filter((pod) => pod.spec.nodeName === this.name));
  }

  /** mount-s3 ends with an error. */
  crash(pod: Pod): void {
    this.machine.kill(uidOf(pod));
  }

  /** The containers of a workload have run to their end. */
  complete(pod: Pod): void {
    this.#workloads.complete(pod);
  }
}
