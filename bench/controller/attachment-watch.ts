/** The attachments on simulated nodes, as a watch sees them. */
import { setTimeout as delay } from "node:timers/promises";
import { kinds, type MountpointS3PodAttachment } from "../../src/kube/kinds.ts";
import { Store } from "../../src/kube/watch/store.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

interface Seen {
  /** UIDs of Pods. */
  readonly workloads: readonly string[];
  readonly isRunning: boolean;
}

const lookEveryMs = 50;

/** The first attachments that a watch showed. */
export interface First {
  readonly atMs: number;
  readonly count: number;
}

export class AttachmentWatch implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #call = { signal: this.#stop.signal, log: silentLogger };
  readonly #store = new Store<Seen, "workload">({ workload: ({ workloads }) => workloads });
  readonly #watching: Promise<void>;

  constructor({ client, name }: SimulatedCluster) {
    const keep = ({ spec }: MountpointS3PodAttachment) => spec.nodeName.startsWith(name);
    this.#watching = watch(this.#call, client, { kind: kinds.attachments, keep, trim: seen }, this.#store);
  }

  /** Until there are so many, on demand with a Mountpoint Pod that runs. */
  async untilThere(count: number, what: "attached" | "running" = "attached"): Promise<First> {
    const isRight = ({ isRunning }: Seen) => what === "attached" || isRunning;
    let first: First | undefined;
    for (;;) {
      const found = [...this.#store.values()].filter(isRight).length;
      if (found > 0) first ??= { atMs: performance.now(), count: found };
      if (found === count && first !== undefined) return first;
      await delay(lookEveryMs);
    }
  }

  /** Until the Pod of this UID is in an attachment. */
  async untilAttached(workload: string): Promise<void> {
    const where = { index: "workload", value: workload } as const;
    await this.#store.waitFor(this.#call, where, (found) => found.length > 0 || undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}

function seen({ spec, status }: MountpointS3PodAttachment): Seen {
  const pods = Object.values(status?.mountpointPods ?? {});
  return {
    workloads: Object.values(spec.mountpointS3PodAttachments).flatMap((all) => all.map((one) => one.workloadPodUID)),
    isRunning: pods.length > 0 && pods.every(({ phase }) => phase === "Running"),
  };
}
