/** Pods as a watch sees them: what is measured is the cluster, and not the pace at which somebody asks. */
import { KubeClient } from "../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../src/kube/client/credentials.ts";
import { kinds, type Pod } from "../src/kube/kinds.ts";
import { keyOf, Store } from "../src/kube/watch/store.ts";
import { watch } from "../src/kube/watch/watch.ts";
import { silentLogger } from "../src/runtime/log.ts";
import type { Cluster, PodRef } from "../test/support/cluster.ts";

export class WatchedPods implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #call = { signal: this.#stop.signal, log: silentLogger };
  readonly #client: KubeClient;
  readonly #pods = new Store<Pod>({});
  readonly #watching: Promise<void>;

  constructor(cluster: Cluster) {
    this.#client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "bench" });
    this.#watching = watch(this.#call, this.#client, { kind: kinds.pods, trim: (pod: Pod) => pod }, this.#pods);
  }

  async create(manifest: object): Promise<void> {
    await this.#client.create(this.#call, kinds.pods, manifest as { metadata: PodRef });
  }

  /** Answers when it was so, as performance.now() has it. */
  async until(ref: PodRef, isSo: (pod: Pod | undefined) => boolean): Promise<number> {
    await this.#pods.waitFor(this.#call, { key: keyOf(ref) }, ([pod]) => isSo(pod) || undefined);
    return performance.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    this.#client[Symbol.dispose]();
  }
}
