/** Healing on a fake node: the loops and their reports. */

import type { PodUid } from "../../src/core/names.ts";
import { fuseDevice } from "../../src/linux/device-id.ts";
import { type Delayed, type Healed, healDeadMounts } from "../../src/node/heal/heal.ts";
import type { RecordStorage } from "../../src/node/records/mount-records.ts";
import { probeSources } from "../../src/node/source/probe-loop.ts";
import type { Swapper } from "../../src/node/swap/swap.ts";
import { describeError } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import type { FakeKernel } from "./fake-kernel.ts";
import { call, FakeNode, mountpointPod, podOf, type Rooms, source, workload } from "./fake-node.ts";

export class FakeHealing implements AsyncDisposable {
  readonly node = new FakeNode();
  rooms: Rooms;
  readonly healed: Healed[] = [];
  readonly delayed: Delayed[] = [];
  /** The tmpfs, which outlives the node plugin. */
  readonly #storage = mapStorage();
  #stop = new AbortController();
  #loop = Promise.resolve();

  constructor() {
    this.node.knows(podOf(), workload);
    this.rooms = this.#newProcess(swapperOn(this.node.kernel));
  }

  start(): void {
    const reports = {
      healed: (_call: unknown, report: Healed) => void this.healed.push(report),
      delayed: (_call: unknown, report: Delayed) => void this.delayed.push(report),
    };
    const background = { ...call, signal: this.#stop.signal };
    const loops = [
      healDeadMounts(background, this.rooms.healing, reports),
      probeSources(background, this.rooms.sources, new Progress()),
    ];
    this.#loop = Promise.all(loops).then(() => undefined);
  }

  /** Starts another process: it has the stored records and no connection to any mount-s3. */
  async restart(): Promise<void> {
    await this.stop();
    this.#stop = new AbortController();
    this.rooms = this.#newProcess(this.rooms.healing.swapper);
    this.start();
  }

  /** Healing enters containers in another way from now on. */
  swapWith(swapper: Swapper): void {
    this.rooms = { ...this.rooms, healing: { ...this.rooms.healing, swapper } };
  }

  /** Starts another process that finds no records. */
  forget(): void {
    this.#storage.files.clear();
    this.rooms = this.#newProcess(this.rooms.healing.swapper);
  }

  #newProcess(swapper: Swapper | undefined): Rooms {
    return this.node.process({ storage: this.#storage, ...(swapper && { swapper }) });
  }

  death(): void {
    this.node.kernel.server(source, "dead");
    this.node.hangUp();
  }

  /** The node plugin was restarted, so it has no connection that reports the death. */
  restartedAfterDeath(): void {
    this.rooms.sources.registry.disconnect(mountpointPod);
    this.node.kernel.server(source, "dead");
  }

  reasons(): readonly string[] {
    return this.delayed.map(({ because }) => describeError(because));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.node[Symbol.dispose]();
  }

  /** The process ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }
}

export function mapStorage(): RecordStorage & { readonly files: Map<string, string> } {
  const files = new Map<string, string>();
  return {
    files,
    all: () => files,
    write: (name, text) => void files.set(name, text),
    remove: (name) => void files.delete(name),
  };
}

/** Replaces mounts in the only namespace of the fake kernel. */
export function swapperOn(kernel: FakeKernel): Swapper {
  return {
    swap: async (_call, deviceId, from, scope) => {
      const now = kernel.at(from)?.deviceId ?? fuseDevice(-1);
      const isInScope = (path: string) =>
        scope === undefined || [...scope.workloads].some((uid) => path.includes(`/pods/${uid}/`));
      const replaced = kernel.table.filter(
        ({ mountPoint, ...mount }) =>
          mount.deviceId === deviceId && mountPoint.includes("/pods/") && isInScope(mountPoint),
      );
      kernel.table = kernel.table.map((mount) => (replaced.includes(mount) ? { ...mount, deviceId: now } : mount));
      return { replaced: replaced.length, failures: [] };
    },
    holdDead: async () => ({ pin: undefined, unseen: [] }),
  };
}

/** Heals the own namespace, and fails for a container of this workload for the given number of times. */
export function failingInside(node: FakeNode, times: number, whose: PodUid | undefined = workload): Swapper {
  const whole = swapperOn(node.kernel);
  let left = times;
  return {
    swap: async (...args) => {
      const { replaced } = await whole.swap(...args);
      left -= 1;
      const failure = { workload: whose, mountPoint: "/data", because: "it hangs", isUnsafe: false };
      return { replaced, failures: left < 0 ? [] : [failure] };
    },
    holdDead: async () => ({ pin: left > 0 ? { [Symbol.dispose]: () => undefined } : undefined, unseen: [] }),
  };
}

/** Fails once like failingInside; then a container of this workload cannot be inspected for the given number of times. */
export function unseenInside(node: FakeNode, times: number, whose: PodUid = workload): Swapper {
  const failing = failingInside(node, 1);
  let left = times;
  const pin = { [Symbol.dispose]: () => undefined };
  return {
    swap: (...args) => failing.swap(...args),
    holdDead: async () => {
      left -= 1;
      if (left >= 0) return { pin: undefined, unseen: [{ workload: whose, because: "its table is too large" }] };
      return { pin: whose === workload ? pin : undefined, unseen: [] };
    },
  };
}
