/** A node plugin with a fake kernel, and Mountpoint Pods whose behaviour a test sets. */
import { noMove } from "../../src/core/mountpoint-pod-state.ts";
import {
  mountpointPodName,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "../../src/core/names.ts";
import type { Stores } from "../../src/core/stores/store.ts";
import { parseVolumeAttributes } from "../../src/core/volume/volume-attributes.ts";
import { WorkQueue } from "../../src/kube/controller/work-queue.ts";
import type { Descriptor } from "../../src/linux/descriptor.ts";
import { Attachments } from "../../src/node/cluster/attachments.ts";
import { type LocalMountpointPod, MountpointPods } from "../../src/node/cluster/mountpoint-pods.ts";
import type { MountCredentials } from "../../src/node/credentials/credentials.ts";
import { fixedCredentials } from "../../src/node/credentials/driver-credentials.ts";
import { sourcePath, targetPath } from "../../src/node/domain/target-path.ts";
import type { HealRoom } from "../../src/node/heal/heal-room.ts";
import type { V1Mounts } from "../../src/node/legacy/v1-mounts.ts";
import { NodeMetrics } from "../../src/node/metrics.ts";
import type { CommVolume, CommVolumes, Connection } from "../../src/node/mounts/comm-volume.ts";
import { type NodeMounts, nodeMounts } from "../../src/node/mounts/node-mounts.ts";
import type { PublishIntent } from "../../src/node/publish/publish-request.ts";
import { type PublishRoom, publishRoom } from "../../src/node/publish/publish-room.ts";
import type { RecordStorage } from "../../src/node/records/mount-records.ts";
import { type NodeRecords, nodeRecords } from "../../src/node/records/node-records.ts";
import { noStorage } from "../../src/node/records/tmpfs-storage.ts";
import { DeadDevices } from "../../src/node/source/dead-devices.ts";
import { SourceRegistry } from "../../src/node/source/source-registry.ts";
import type { SourceRoom } from "../../src/node/source/source-room.ts";
import type { Swapper } from "../../src/node/swap/swap.ts";
import type { Call } from "../../src/runtime/call.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { Secret } from "../../src/runtime/secret.ts";
import type { Credentials } from "../../src/s3/credentials.ts";
import { attachmentOf } from "./fake-attachment.ts";
import { atDefaultStore, driverAccess, noSessions, storesWith, usualStore } from "./fake-credentials.ts";
import { FakeKernel } from "./fake-kernel.ts";

const usualStores = storesWith();

export const kubeletDir = "/kubelet";
const namespace = "mount-s3";
export const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
export const otherWorkload = "c0d1f7b4-0b7e-4c53-9f0a-3f5b2f6f7a11" as PodUid;
export const volume = "photos-pv" as PvName;
export const mountpointPod = mountpointPodName(workload, volume);
export const source = sourcePath(kubeletDir, mountpointPod);
export const target = targetOf(workload);

export const call: Call = { signal: new AbortController().signal, log: silentLogger };

export function targetOf(of: PodUid): string {
  return targetPath(kubeletDir, { workload: of, persistentVolume: volume });
}

export function credentialsOf(name: string): Credentials {
  return {
    accessKeyId: new Secret(`${name}-id`),
    secretAccessKey: new Secret(`${name}-secret`),
    sessionToken: undefined,
  };
}

export function intentOf(of: PodUid = workload, more: Partial<PublishIntent> = {}): PublishIntent {
  return {
    volumeId: "photos" as VolumeId,
    target: targetOf(of),
    workload: of,
    workloadName: { namespace: "default", name: "app" },
    persistentVolume: volume,
    attributes: parseVolumeAttributes({ bucketName: "photos" }),
    mountOptions: [],
    readOnly: false,
    fsGroup: "",
    access: driverAccess,
    token: undefined,
    store: usualStore,
    region: undefined,
    ...more,
  };
}

/** Not one that waits for a volume. */
interface PodOfVolume extends LocalMountpointPod {
  readonly persistentVolume: PvName;
}

export function podOf(more: Partial<PodOfVolume | LocalMountpointPod> = {}): PodOfVolume {
  return {
    name: mountpointPod,
    uid: "uid-of-mountpoint-pod" as PodUid,
    resourceVersion: "1",
    node: "node-1" as NodeName,
    persistentVolume: volume,
    volumeId: "photos" as VolumeId,
    identity: "driver",
    createdAt: new Date(0),
    driverVersion: "3.0.0",
    phase: "running",
    terminating: false,
    needsUnmount: false,
    needsUnmountSince: undefined,
    noNewWorkload: false,
    readOnly: false,
    move: noMove,
    settings: undefined,
    isLegacy: false,
    explanation: "",
    claim: "default/photos",
    hostNetwork: false,
    waiting: undefined,
    lastTermination: undefined,
    live: {},
    ...(more as Partial<PodOfVolume>),
  };
}

/** The reaction of a mounter to its request; by default mount-s3 serves at once. */
export type Behaviour = (node: FakeNode, device: Descriptor) => void;

const serves: Behaviour = ({ kernel }, device) => kernel.server(device, "serving");
export const hangs: Behaviour = () => undefined;
export const dies: Behaviour = (node, device) => {
  node.kernel.server(device, "dead");
  node.hangUp();
};

/** DeadDevices that opens no mounts, because those of a fake kernel cannot be opened. */
function unpinned(): DeadDevices {
  return new DeadDevices(() => ({ [Symbol.dispose]: () => undefined }));
}

/** The rooms of one process of the node plugin. */
export interface Rooms {
  readonly records: NodeRecords;
  readonly sources: SourceRoom;
  readonly publishing: PublishRoom;
  readonly healing: HealRoom;
}

interface Surroundings {
  readonly mounts: NodeMounts;
  readonly comm: CommVolumes;
  readonly registry: SourceRegistry;
  readonly storage: RecordStorage;
  readonly swapper: Swapper;
  readonly stores: Stores;
}

export class FakeNode implements Disposable {
  readonly kernel = new FakeKernel();
  readonly mounts = nodeMounts(kubeletDir, this.kernel);
  readonly metrics = new NodeMetrics();
  readonly cluster = {
    attachments: new Attachments("ask the controller"),
    mountpointPods: new MountpointPods(namespace),
    mountS3Log: async () => this.log,
    kubernetesVersion: () => "v1.36.3",
  };
  readonly credentials: MountCredentials;
  readonly v1: V1Mounts;
  readonly rooms: Rooms;
  /** Decoded requests that the mounter received. */
  readonly requests: unknown[] = [];
  /** Content of the credential files, by name. */
  readonly credentialFiles = new Map<string, string>();
  /** Workloads for which credential files of 1.x were written. */
  readonly v1Files = new Set<PodUid>();
  /** Number of credential files that were written. */
  writes = 0;
  exitAsked = false;
  /** The log of mount-s3. */
  log = "";
  openConnections = 0;
  volumeExists = true;
  listens = true;
  behaviour: Behaviour = serves;
  sendFault: Error | undefined;
  hangUp: () => void = () => undefined;
  #version = 0;
  readonly #listeners = new Set<() => void>();

  constructor(
    { driverCredentials }: { readonly driverCredentials: Credentials | undefined } = {
      driverCredentials: credentialsOf("driver"),
    },
  ) {
    const known = fixedCredentials(driverCredentials);
    this.credentials = {
      drivers: atDefaultStore(known),
      sessions: noSessions,
      stores: usualStores,
      records: { get: () => undefined },
      comm: {
        open: () => (this.volumeExists ? this.#commVolume() : undefined),
        subscribe: (_pod, listener) => {
          this.#listeners.add(listener);
          return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
        },
      },
    };
    this.v1 = {
      attachments: this.cluster.attachments,
      driverCredentials: known,
      files: {
        keep: ({ workload: of }) => void this.v1Files.add(of),
        remove: ({ workload: of }) => void this.v1Files.delete(of),
        removeUnless: (isUsed) => {
          const unused = [...this.v1Files].filter((of) => !isUsed(of));
          for (const of of unused) this.v1Files.delete(of);
          return unused;
        },
      },
    };
    this.rooms = this.process();
  }

  /** Starts a process of the node plugin, which knows what is in the storage. */
  process(but: Partial<Surroundings> = {}): Rooms {
    const { cluster, metrics, v1 } = this;
    const { storage = noStorage, swapper, registry = new SourceRegistry(unpinned()), comm, mounts } = but;
    const { stores = usualStores } = but;
    const records = nodeRecords(storage);
    const credentials = { ...this.credentials, stores, records: records.mounts, ...(comm && { comm }) };
    const shared = { mounts: mounts ?? this.mounts, cluster, records: records.mounts };
    const ofSources = { metrics, exportsFigures: false, hangLimitMs: 600_000, unmounts: new WorkQueue<PodName>() };
    const sources = { ...shared, ...ofSources, stores, credentials, registry };
    const settings = {
      nodeId: "node-1",
      stores,
      podIdentity: false,
      proxy: {},
      pidNamespaces: { usual: "private", inHostPids: false } as const,
      fallbackToDriverCredentials: true,
      driverVersion: "3.0.0",
      entersContainers: swapper !== undefined,
    };
    const publishing = publishRoom({ ...shared, settings, credentials, sources, v1, metrics });
    return { records, sources, publishing, healing: { ...shared, records, sources, metrics, swapper } };
  }

  /** Completes the initial lists, with this Mountpoint Pod and these workloads. */
  knows(pod: LocalMountpointPod | undefined, ...workloads: readonly PodUid[]): this {
    if (pod !== undefined) this.put(pod);
    if (workloads.length > 0)
      this.cluster.attachments.store.put("s3pa-1", this.#next(), attachmentOf({ volume, mountpointPod, workloads }));
    this.cluster.attachments.store.complete();
    this.cluster.mountpointPods.store.complete();
    return this;
  }

  /** The controller reports in the attachment that a Mountpoint Pod is unschedulable. */
  reportsUnschedulable(message: string): void {
    const { store } = this.cluster.attachments;
    for (const attachment of store.values()) {
      store.put(attachment.name, this.#next(), { ...attachment, unschedulable: message });
    }
  }

  /** The mounter starts to listen, which notifies listeners of the volume. */
  startsListening(): void {
    this.listens = true;
    for (const listener of this.#listeners) listener();
  }

  put(pod: LocalMountpointPod): void {
    this.cluster.mountpointPods.store.put(`${namespace}/${pod.name}`, this.#next(), pod);
  }

  /** Mounts, open devices and open connections, of which a failure must leave none. */
  get traces() {
    const { kernel, openConnections } = this;
    return { mounts: kernel.table.map(({ mountPoint }) => mountPoint), devices: kernel.openDevices, openConnections };
  }

  [Symbol.dispose](): void {
    this.rooms.sources.unmounts[Symbol.dispose]();
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #commVolume(): CommVolume {
    return {
      connect: () => (this.listens ? this.#connection() : undefined),
      writeCredentials: (files) => {
        for (const [name, content] of Object.entries(files)) {
          if (this.credentialFiles.get(name) === content) continue;
          this.credentialFiles.set(name, content);
          this.writes += 1;
        }
      },
      credentialFiles: () => [...this.credentialFiles.keys()],
      credentialsChangedAt: () => undefined,
      askToExit: () => {
        this.exitAsked = true;
      },
      errorText: () => undefined,
      clearError: () => undefined,
      [Symbol.dispose]: () => undefined,
    };
  }

  #connection(): Connection {
    const { promise: closed, resolve } = Promise.withResolvers<"byPeer" | "byUs">();
    this.openConnections += 1;
    let isOpen = true;
    const close = (by: "byPeer" | "byUs") => {
      if (isOpen) this.openConnections -= 1;
      isOpen = false;
      resolve(by);
    };
    this.hangUp = () => close("byPeer");
    return {
      closed,
      send: (message, device) => {
        if (this.sendFault !== undefined) throw this.sendFault;
        this.requests.push(JSON.parse(Buffer.from(message).toString()));
        this.listens = false;
        this.behaviour(this, device);
      },
      [Symbol.dispose]: () => close("byUs"),
    };
  }
}
