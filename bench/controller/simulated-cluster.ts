/** Nodes that kwok simulates, and workloads on them, each with a volume of its own, in a real API server. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reconcilerLease } from "../../src/core/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { Transport } from "../../src/kube/client/transport.ts";
import { type Kind, type KubeObject, kinds } from "../../src/kube/kinds.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { type Cluster, claimManifest, persistentVolumeManifest } from "../../test/support/cluster.ts";
import { inParallel } from "../../test/support/in-parallel.ts";

const simulatedLabel = "bench.example.com/simulated";
const atOnce = 32;

export class SimulatedCluster implements AsyncDisposable {
  /** Of the namespace of workloads; everything else has names that begin like it. */
  readonly name = `bench-${process.pid}`;
  readonly mountpointNamespace = `${this.name}-mp`;
  readonly call = { signal: new AbortController().signal, log: silentLogger };
  readonly client: KubeClient;
  readonly #cluster: Cluster;
  readonly #transport: Transport;
  readonly #nodes: readonly string[];
  readonly #kwok: Kwok;

  private constructor(cluster: Cluster, nodes: number, nodeLeaseSeconds: number) {
    const { kubeconfig } = cluster.lab.layout;
    this.#cluster = cluster;
    this.client = new KubeClient(kubeconfigCredentials(kubeconfig), { userAgent: "bench" });
    this.#transport = new Transport(kubeconfigCredentials(kubeconfig), { userAgent: "bench" });
    this.#nodes = Array.from({ length: nodes }, (_, index) => `${this.name}-node-${index}`);
    this.#kwok = kwok(kubeconfig, this.mountpointNamespace, nodeLeaseSeconds);
  }

  /** Without seconds, kwok renews no leases of nodes: those of 5,000 are 500 writes a second. */
  static async open(cluster: Cluster, nodes: number, nodeLeaseSeconds = 40): Promise<SimulatedCluster> {
    const simulated = new SimulatedCluster(cluster, nodes, nodeLeaseSeconds);
    for (const namespace of [simulated.name, simulated.mountpointNamespace]) {
      await cluster.kubectl("create", "namespace", namespace);
      // No Pod is accepted before its account is there.
      await cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=240s");
    }
    // It would bind claims and put a DaemonSet's Pods on the nodes, at its own slow rate, while we measure.
    await cluster.lab.component("kube-controller-manager").stop(simulated.call.signal);
    await simulated.#addNodes();
    return simulated;
  }

  /** Programs that work for the same workloads on the same cores, by name. */
  get others(): ReadonlyMap<string, number> {
    const components = ["kube-apiserver", "etcd", "kube-scheduler"];
    const pids = components.map((name) => [name, this.#cluster.lab.component(name).process?.pid] as const);
    return new Map([...pids, ["kwok", this.#kwok.pid] as const].flatMap(([name, pid]) => (pid ? [[name, pid]] : [])));
  }

  /** Volumes with their claims, bound to each other; gives their common names. */
  async volumes(prefix: string, count: number): Promise<readonly string[]> {
    const names = Array.from({ length: count }, (_, index) => `${this.name}-${prefix}-${index}`);
    const { call, client, name: namespace } = this;
    await inParallel(
      names,
      async (name) => {
        await client.create(call, kinds.persistentVolumes, persistentVolumeManifest({ namespace, name }, name, {}));
        await client.create(call, kinds.persistentVolumeClaims, claimManifest({ namespace, name }));
        const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`;
        const contentType = "application/merge-patch+json";
        await this.#transport.json(call, { method: "PATCH", path, body: { status: { phase: "Bound" } }, contentType });
      },
      atOnce,
    );
    return names;
  }

  get nodes(): readonly string[] {
    return this.#nodes;
  }

  /** One for each claim, on the nodes in turns, scheduled already. */
  async workloads(claims: readonly string[]): Promise<void> {
    const placed = claims.map((claim, index) => ({
      name: `app-${claim}`,
      claim,
      node: this.#nodes[index % this.#nodes.length] ?? "",
    }));
    await inParallel(placed, (one) => this.workload(one), atOnce);
  }

  /** Gives its UID. */
  async workload({ name, claim, node }: Record<"name" | "claim" | "node", string>): Promise<string> {
    const { metadata } = await this.client.create(this.call, kinds.pods, {
      metadata: { name, namespace: this.name },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        tolerations: [{ operator: "Exists" }],
        containers: [{ name: "app", image: "app" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
      },
    } as { metadata: { name: string } });
    return metadata.uid;
  }

  /** Those of these claims; they have not started, so they are gone when this returns. */
  async endWorkloads(claims: readonly string[]): Promise<void> {
    const names = new Set(claims.map((claim) => `app-${claim}`));
    await this.#delete(kinds.pods, ({ name, namespace }) => namespace === this.name && names.has(name));
  }

  /** Mountpoint Pods and attachments, whoever wrote them. */
  async deleteServed(): Promise<void> {
    await this.#delete(kinds.pods, ({ namespace }) => namespace === this.mountpointNamespace);
    const attachments = await this.client.list(this.call, kinds.attachments);
    const ours = attachments.filter(({ spec }) => spec.nodeName.startsWith(this.name));
    await inParallel(ours, ({ metadata }) =>
      this.client.delete(this.call, kinds.attachments, metadata, { uid: metadata.uid }),
    );
  }

  /** Flags of a reconciler that takes part in the election. */
  candidate(podName: string): readonly string[] {
    return [`--pod-namespace=${this.name}`, `--pod-name=${podName}`, "--require-lease"];
  }

  /** Undefined while nobody leads. */
  async leader(): Promise<{ readonly name: string; readonly changes: number } | undefined> {
    const ref = { namespace: this.name, name: reconcilerLease };
    const { holderIdentity, leaseTransitions } = (await this.client.get(this.call, kinds.leases, ref))?.spec ?? {};
    return holderIdentity ? { name: holderIdentity, changes: leaseTransitions ?? 0 } : undefined;
  }

  /** For as long as this is held, a reconciler that takes part in the election watches everything and does nothing. */
  async heldLease(): Promise<AsyncDisposable> {
    const ref = { namespace: this.name, name: reconcilerLease };
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: "bench", leaseDurationSeconds: 86_400, acquireTime: renewTime, renewTime };
    const { metadata } = await this.client.create(this.call, kinds.leases, { metadata: ref, ...{ spec } });
    return { [Symbol.asyncDispose]: () => this.client.delete(this.call, kinds.leases, ref, { uid: metadata.uid }) };
  }

  /** What is left in the namespaces goes with them, in the time of kube-controller-manager. */
  async [Symbol.asyncDispose](): Promise<void> {
    const isOurs = ({ name }: { readonly name: string }) => name.startsWith(this.name);
    await this.deleteServed();
    await this.#cluster.kubectl("delete", "namespace", this.name, this.mountpointNamespace, "--wait=false");
    await this.#delete(kinds.nodes, isOurs);
    await this.#delete(kinds.persistentVolumes, isOurs);
    await this.#cluster.lab.component("kube-controller-manager").start(this.call.signal);
    this.#kwok[Symbol.dispose]();
    this.#transport[Symbol.dispose]();
    this.client[Symbol.dispose]();
  }

  async #addNodes(): Promise<void> {
    await inParallel(this.#nodes, (name) => {
      const labels = { [simulatedLabel]: "true", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name };
      return this.client.create(this.call, kinds.nodes, { metadata: { name, labels } } as {
        metadata: { name: string };
      });
    });
  }

  async #delete(kind: Kind<KubeObject>, isMeant: (metadata: KubeObject["metadata"]) => boolean): Promise<void> {
    const all = (await this.client.list(this.call, kind)).map(({ metadata }) => metadata).filter(isMeant);
    await inParallel(all, ({ name, namespace, uid }) =>
      this.client.delete(this.call, kind, { name, namespace }, { uid }),
    );
  }
}

interface Kwok extends Disposable {
  readonly pid: number | undefined;
}

/** For as long as this is held. */
function kwok(kubeconfig: string, mountpointNamespace: string, nodeLeaseSeconds: number): Kwok {
  const program = process.env["KWOK"];
  if (program === undefined) throw new Error("KWOK names no program: run this with ./dev bench controller");
  const directory = mkdtempSync(join(tmpdir(), "bench-kwok-"));
  const config = join(directory, "kwok.yaml");
  const stages = readFileSync(join(import.meta.dirname, "kwok.yaml"), "utf8");
  writeFileSync(config, stages.replaceAll("NAMESPACE", mountpointNamespace));
  const managed = ["--manage-all-nodes=false", `--manage-nodes-with-label-selector=${simulatedLabel}=true`];
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--config=${config}`,
    `--node-lease-duration-seconds=${nodeLeaseSeconds}`,
  ];
  const child = spawn(program, [...flags, ...managed], { stdio: "ignore" });
  return {
    pid: child.pid,
    [Symbol.dispose]: () => {
      child.kill("SIGKILL");
      rmSync(directory, { recursive: true });
    },
  };
}
