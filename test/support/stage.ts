/** A cluster whose nodes exist on paper only: the test says what kubelet would say, so every moment can be held still. */
import { randomBytes } from "node:crypto";
import { vi } from "vitest";
import { checkout } from "../../lab/images.ts";
import { annotations, mountpointPodName, type PodName, type PodUid, type PvName } from "../../src/core/names.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { Transport } from "../../src/kube/client/transport.ts";
import { type CoreEvent, kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import type { Call } from "../../src/runtime/call.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { type Cluster, claimManifest, persistentVolumeManifest, type VolumeWish } from "./cluster.ts";

/**
 * How patiently a test waits for what the reconciler mostly does within milliseconds. It lists all Pods at most twice a minute, and some
 * conclusions wait for that.
 */
export const long = { timeout: 180_000, interval: 100 } as const;

/** Installs the attachments' kind as the documentation says; there already, nothing changes. */
export async function installAttachmentKind(cluster: Cluster): Promise<void> {
  await cluster.kubectl("apply", "-k", checkout);
  await cluster.kubectl("wait", "--for=condition=Established", "crd/mountpoints3podattachments.s3.csi.scality.com");
  // Another definition than before makes the API server build its storage anew; until then it answers 429, and ends watches.
  await vi.waitFor(() => cluster.kubectl("get", "mountpoints3podattachments.s3.csi.scality.com"), long);
}

export interface StageVolumeWish extends VolumeWish {
  /** Of its claim. */
  readonly namespace?: string;
}

export interface WorkloadWish {
  /** Names of claims, in the workload's namespace. */
  readonly claims?: readonly string[];
  readonly node?: string;
  readonly fsGroup?: number;
  readonly namespace?: string;
  readonly terminationGracePeriodSeconds?: number;
  /** Scheduling gates; once they are removed, the real scheduler finds room on the node. */
  readonly gates?: readonly string[];
}

export interface Running {
  readonly workload: Pod;
  readonly mountpointPod: Pod;
}

/** Mountpoint Pod → UIDs of the workloads it serves. */
export type Served = Readonly<Record<string, readonly string[]>>;

export class Stage implements AsyncDisposable {
  /** Of the namespace of workloads; everything else has names that begin like it. */
  readonly name = `t-${randomBytes(4).toString("hex")}`;
  readonly mountpointNamespace = `${this.name}-mp`;
  readonly node = `${this.name}-node-1`;
  readonly otherNode = `${this.name}-node-2`;
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly call: Call = { signal: new AbortController().signal, log: silentLogger };
  readonly #transport: Transport;
  readonly #volumes: string[] = [];

  private constructor(cluster: Cluster) {
    const credentials = kubeconfigCredentials(cluster.lab.layout.kubeconfig);
    this.cluster = cluster;
    this.client = new KubeClient(credentials, { userAgent: "test" });
    this.#transport = new Transport(credentials, { userAgent: "test" });
  }

  static async open(cluster: Cluster): Promise<Stage> {
    const stage = new Stage(cluster);
    const namespaces = [stage.name, stage.mountpointNamespace].map((name) => stage.#addNamespace(name));
    const nodes = [stage.node, stage.otherNode].map((name) => stage.#addNode(name));
    await Promise.all([...namespaces, ...nodes]);
    return stage;
  }

  /** A PersistentVolume and a claim of the same name bound to it. */
  async volume(wish: StageVolumeWish = {}): Promise<string> {
    const name = await this.persistentVolume(wish);
    await this.claim(name, wish.namespace);
    return name;
  }

  async persistentVolume(wish: StageVolumeWish = {}): Promise<string> {
    const name = wish.name ?? `${this.name}-${this.#volumes.length}`;
    this.#volumes.push(name);
    const manifest = persistentVolumeManifest({ namespace: wish.namespace ?? this.name, name }, name, wish);
    await this.client.create(this.call, kinds.persistentVolumes, manifest);
    return name;
  }

  async claim(name: string, namespace = this.name): Promise<void> {
    await this.client.create(this.call, kinds.persistentVolumeClaims, claimManifest({ namespace, name }));
  }

  /** Volume and claim, although they are in use: someone has taken away what protects them. */
  async removeVolume(name: string): Promise<void> {
    const objects = [
      `/api/v1/namespaces/${this.name}/persistentvolumeclaims/${name}`,
      `/api/v1/persistentvolumes/${name}`,
    ];
    for (const path of objects) {
      await this.#delete(path);
      await ifItIsThere(this.patch(path, { metadata: { finalizers: null } }));
      await vi.waitFor(async () => {
        const found = this.#transport.json(this.call, { method: "GET", path });
        if (await found.catch(() => undefined)) throw new Error(`${path} is still there`);
      }, long);
    }
  }

  /** A Pod as it is once the scheduler has chosen its node, unless it is held back. */
  async workload(name: string, wish: WorkloadWish = {}): Promise<Pod> {
    const { namespace = this.name, node = this.node, fsGroup, terminationGracePeriodSeconds = 0 } = wish;
    return await this.client.create(this.call, kinds.pods, {
      metadata: { name, namespace },
      spec: {
        ...(wish.gates === undefined ? { nodeName: node } : gated(wish.gates, node)),
        terminationGracePeriodSeconds,
        // A node without kubelet is taken for lost after a minute; that must not end the test's Pods.
        tolerations: [{ operator: "Exists" }],
        securityContext: fsGroup === undefined ? {} : { fsGroup },
        containers: [{ name: "app", image: "app" }],
        volumes: (wish.claims ?? []).map((claimName, index) => ({
          name: `volume-${index}`,
          persistentVolumeClaim: { claimName },
        })),
      },
    } as { metadata: { name: string } });
  }

  /** A workload with one volume, served by a Mountpoint Pod of its own, both started. */
  async running(name: string, claim: string, wish: Omit<WorkloadWish, "claims"> = {}): Promise<Running> {
    const workload = await this.workload(name, { ...wish, claims: [claim] });
    const served = mountpointPodOf(workload, claim);
    await vi.waitFor(async () => {
      if ((await this.served())[served] === undefined) throw new Error(`${served} does not serve ${name}`);
    }, long);
    const mountpointPod = (await this.mountpointPod(served)) as Pod;
    await this.phase(mountpointPod, "Running");
    await this.phase(workload, "Running");
    return { workload, mountpointPod };
  }

  /** What kubelet would report. */
  async phase({ metadata }: Pick<Pod, "metadata">, phase: string, more: object = {}): Promise<void> {
    const body = { status: { phase, ...more } };
    await this.patch(`${podPath(metadata)}/status`, body);
  }

  /** Starts the Mountpoint Pods that are to run, ends those that are marked, and lets go of those that are deleted. */
  async playKubelet(): Promise<void> {
    for (const pod of await this.mountpointPods()) {
      const { phase } = pod.status ?? {};
      if (pod.metadata.deletionTimestamp !== undefined) await ifItIsThere(this.deletePod(pod));
      else if (phase === "Running" && isMarked(pod)) await ifItIsThere(this.phase(pod, "Succeeded"));
      else if (phase === "Pending" && !isMarked(pod)) await ifItIsThere(this.phase(pod, "Running"));
    }
  }

  /** With 0 seconds the object is gone when this returns, as after kubelet's last word or `--force`. */
  async deletePod({ metadata }: Pick<Pod, "metadata">, gracePeriodSeconds = 0): Promise<void> {
    const body = { gracePeriodSeconds, preconditions: { uid: metadata.uid } };
    await this.#transport.json(this.call, { method: "DELETE", path: podPath(metadata), body });
  }

  async patch(path: string, body: object): Promise<void> {
    const contentType = "application/merge-patch+json";
    await this.#transport.json(this.call, { method: "PATCH", path, body, contentType });
  }

  /** Those of the stage's volumes. */
  async attachments(): Promise<readonly MountpointS3PodAttachment[]> {
    const all = await this.client.list(this.call, kinds.attachments);
    return all.filter(({ spec }) => spec.persistentVolumeName.startsWith(this.name));
  }

  async served(): Promise<Served> {
    return Object.assign({}, ...(await this.attachments()).map(servedBy)) as Served;
  }

  /** Every Pod in the namespace of Mountpoint Pods. */
  async mountpointPods(): Promise<readonly Pod[]> {
    return await this.client.list(this.call, kinds.pods, { namespace: this.mountpointNamespace });
  }

  async mountpointPod(name: string): Promise<Pod | undefined> {
    return await this.client.get(this.call, kinds.pods, { namespace: this.mountpointNamespace, name });
  }

  /** Messages of the events about a Pod. */
  async events({ metadata }: Pick<Pod, "metadata">): Promise<readonly CoreEvent[]> {
    const { namespace, uid } = metadata;
    return await this.client.list(this.call, kinds.events, { namespace, fieldSelector: `involvedObject.uid=${uid}` });
  }

  /** What a user finds at a claim. */
  async eventsOfClaim(name: string): Promise<readonly CoreEvent[]> {
    const fieldSelector = `involvedObject.kind=PersistentVolumeClaim,involvedObject.name=${name}`;
    const all = await this.client.list(this.call, kinds.events, { namespace: this.name, fieldSelector });
    // Those of the volume controller are of no interest.
    return all.filter(({ type }) => type === "Warning");
  }

  /** Namespaces go in their own time: it takes the namespace controller five seconds, and nobody uses their names again. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const namespace of [this.name, this.mountpointNamespace]) {
      await this.#delete(`/api/v1/namespaces/${namespace}/pods`);
      await this.#delete(`/api/v1/namespaces/${namespace}`);
    }
    for (const node of [this.node, this.otherNode]) {
      await this.#delete(
        `/apis/s3.csi.scality.com/v2/mountpoints3podattachments?fieldSelector=spec.nodeName%3D${node}`,
      );
      await this.#delete(`/api/v1/nodes/${node}`);
    }
    for (const name of this.#volumes) await this.#delete(`/api/v1/persistentvolumes/${name}`);
    this.client[Symbol.dispose]();
    this.#transport[Symbol.dispose]();
  }

  /** No Pod is accepted before its account is there, which kube-controller-manager makes in its own time. */
  async #addNamespace(name: string): Promise<void> {
    await this.#create("namespaces", { name });
    const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await vi.waitFor(() => this.#transport.json(this.call, { method: "GET", path }), long);
  }

  async #addNode(name: string): Promise<void> {
    await this.#create("nodes", { name, labels: { "kubernetes.io/os": "linux", [hostname]: name } });
    // The scheduler places nothing where there is no room.
    const room = { pods: "1000", cpu: "100", memory: "100Gi" };
    await this.patch(`/api/v1/nodes/${name}/status`, { status: { capacity: room, allocatable: room } });
  }

  async #create(plural: string, metadata: object): Promise<void> {
    await this.#transport.json(this.call, { method: "POST", path: `/api/v1/${plural}`, body: { metadata } });
  }

  async #delete(path: string): Promise<void> {
    const body = { gracePeriodSeconds: 0 };
    const deletion = async () => void (await this.#transport.json(this.call, { method: "DELETE", path, body }));
    // A started API server is busy for a while after it has called itself ready.
    await vi.waitFor(() => ifItIsThere(deletion()), long);
  }
}

export function servedBy({ spec }: MountpointS3PodAttachment): Served {
  const lists = Object.entries(spec.mountpointS3PodAttachments);
  return Object.fromEntries(lists.map(([name, served]) => [name, served.map((entry) => entry.workloadPodUID)]));
}

const hostname = "kubernetes.io/hostname";

function gated(gates: readonly string[], node: string): object {
  return { schedulingGates: gates.map((name) => ({ name })), nodeSelector: { [hostname]: node } };
}

/** The name that a workload's own Mountpoint Pod has. */
export function mountpointPodOf({ metadata }: { readonly metadata: { readonly uid: string } }, claim: string): PodName {
  return mountpointPodName(metadata.uid as PodUid, claim as PvName);
}

export function isMarked({ metadata }: Pick<Pod, "metadata">): boolean {
  return metadata.annotations?.[annotations.needsUnmount] === "true";
}

/** Or was there a moment ago: the reconciler may be faster. */
export async function ifItIsThere(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof ApiError && (error.isNotFound || error.isConflict))) throw error;
  }
}

function podPath({ namespace, name }: Pod["metadata"]): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
