/** The node plugin: its real watches, publish, healing, probes, unmount loop, records and status, on the kernel of a simulated machine. */
import type { NodeName, PodName, PodUid, PvName, VolumeId } from "../../src/core/names.ts";
import { parseVolumeAttributes } from "../../src/core/volume/volume-attributes.ts";
import { WorkQueue } from "../../src/kube/controller/work-queue.ts";
import { Attachments } from "../../src/node/cluster/attachments.ts";
import { MountpointPods } from "../../src/node/cluster/mountpoint-pods.ts";
import { reportStatus } from "../../src/node/cluster/report-status.ts";
import { fixedCredentials } from "../../src/node/credentials/driver-credentials.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import { healDeadMounts } from "../../src/node/heal/heal.ts";
import { NodeMetrics } from "../../src/node/metrics.ts";
import { nodeMounts } from "../../src/node/mounts/node-mounts.ts";
import { moveWorkloads } from "../../src/node/move/move.ts";
import { mountAhead } from "../../src/node/publish/mount-ahead.ts";
import { removeOrphanedTargets } from "../../src/node/publish/orphaned-targets.ts";
import { publish } from "../../src/node/publish/publish.ts";
import type { PublishIntent } from "../../src/node/publish/publish-request.ts";
import { type PublishRoom, publishRoom } from "../../src/node/publish/publish-room.ts";
import { unpublish } from "../../src/node/publish/unpublish.ts";
import { nodeRecords } from "../../src/node/records/node-records.ts";
import { DeadDevices } from "../../src/node/source/dead-devices.ts";
import { probeSources } from "../../src/node/source/probe-loop.ts";
import { SourceRegistry } from "../../src/node/source/source-registry.ts";
import { unmountUnneeded } from "../../src/node/source/unmount-loop.ts";
import type { Call } from "../../src/runtime/call.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import {
  atDefaultStore,
  driverAccess,
  noSessions,
  secretAccess,
  storesWith,
  usualStore,
} from "../support/fake-credentials.ts";
import { credentialsOf } from "../support/fake-node.ts";
import type { ApiServer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { Chance } from "./chance.ts";
import { Connection } from "./connection.ts";
import { kubeletDir, type Machine } from "./machine.ts";
import { SimulatedProcess } from "./process.ts";
import type { Counts } from "./replica.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { Weather } from "./weather.ts";

export interface NodePluginOptions {
  readonly node: NodeName;
  readonly machine: Machine;
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly hasWatchList: boolean;
  readonly story: (line: string) => void;
  /** Called before every step of its first process. */
  readonly onStep?: (step: number) => void;
}

/** A volume in a workload, as kubelet knows it from the PersistentVolume and the Pod. */
export interface Volume {
  readonly workload: PodUid;
  readonly persistentVolume: PvName;
  readonly volumeId: VolumeId;
  readonly attributes: Readonly<Record<string, string>>;
  readonly mountOptions: readonly string[];
  readonly fsGroup: string;
  readonly hasSecret: boolean;
}

interface Running {
  readonly process: SimulatedProcess;
  readonly connection: Connection;
  readonly publishing: PublishRoom;
  readonly call: Call;
}

export class NodePlugin {
  readonly weather: Weather;
  readonly #options: NodePluginOptions;
  #running: Running | undefined;
  #requests = 0;
  /** How many processes there were. Calls of an earlier one are never answered. */
  generation = 0;

  constructor(options: NodePluginOptions) {
    this.#options = options;
    this.weather = new Weather(options.chance, `the node plugin of ${options.node}`);
  }

  start(): void {
    if (this.#running !== undefined) return;
    const { node, machine, server, time, chance, hasWatchList, story } = this.#options;
    this.generation += 1;
    story(`the node plugin of ${node} starts`);
    const random = () => chance.next(`chance of the node plugin of ${node}`);
    const process = new SimulatedProcess(`s3-csi-node ${node}`, time, { skewMs: 0, rate: 1 }, random);
    if (this.generation === 1) process.onStep = this.#options.onStep;
    const api = { server, time, process, weather: this.weather, hasWatchList, mayUseLeases: false };
    const onRequest = () => {
      this.#requests += 1;
    };
    const connection = new Connection({ ...api, leader: () => undefined, onRequest });
    const log = jsonLogger((line) => this.#check(line), 2);
    const call = { signal: new AbortController().signal, log };
    // None of the loops ends by itself. Not thrown here, where the program would handle it.
    const failed = (error: unknown) =>
      void time.after(0, () => {
        throw new BrokenRule(`the node plugin of ${node} has failed: ${String(error)}`);
      });
    const publishing = process.run(() => {
      const rooms = roomsOf(machine, process);
      this.#runLoops(call, connection, rooms).catch(failed);
      return rooms.publishing;
    });
    this.#running = { process, connection, publishing, call };
  }

  /** kill -9. */
  crash(): void {
    this.#options.story(`the node plugin of ${this.#options.node} crashes`);
    this.#running?.process.die();
    this.#running?.connection.cutStreams();
    this.#running = undefined;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Since the last call. */
  takeCounts(): Counts {
    const requests = this.#requests;
    this.#requests = 0;
    return { requests, timers: this.#running?.process.takeTimers() ?? 0 };
  }

  /** NodePublishVolume. `onAnswer` is not called if the process dies before it answers. */
  publish(volume: Volume, onAnswer: (error: unknown) => void): void {
    const { process, publishing, call } = this.#running ?? {};
    if (process === undefined || publishing === undefined || call === undefined) return;
    process.run(() => {
      Promise.resolve(volume)
        .then((asked) => publish(call, publishing, intentOf(asked)))
        .then(
          () => onAnswer(undefined),
          (error: unknown) => onAnswer(error),
        );
    });
  }

  /** NodeUnpublishVolume. False: there was no answer, or a refusal; kubelet asks again. */
  unpublish(workload: PodUid, persistentVolume: PvName): boolean {
    const { process, publishing, call } = this.#running ?? {};
    if (process === undefined || publishing === undefined || call === undefined) return false;
    const path = targetPath(kubeletDir, { workload, persistentVolume });
    try {
      process.run(() => unpublish(call, publishing, { volumeId: "any", targetPath: path }));
      return true;
    } catch {
      return false; // a publish is in progress
    }
  }

  /** A rejection without a handler would end the process. */
  #check(line: string): void {
    const { time, node } = this.#options;
    if (!line.includes("background work failed")) return;
    time.after(0, () => {
      throw new BrokenRule(`the node plugin of ${node} says ${line}`);
    });
  }

  async #runLoops(call: Call, { client }: Connection, rooms: ReturnType<typeof roomsOf>): Promise<void> {
    const { node } = this.#options;
    const { cluster, sources, healing, publishing } = rooms;
    using _ahead = mountAhead(call, publishing, client);
    const progress = new Progress();
    const reports = { healed: () => undefined, delayed: () => undefined };
    const moveReports = { moved: () => undefined, failed: () => undefined, lost: () => undefined };
    await Promise.all([
      cluster.attachments.follow(call, client, node, progress),
      cluster.mountpointPods.follow(call, client, node, progress),
      unmountUnneeded(call, sources),
      probeSources(call, sources, progress),
      healDeadMounts(call, healing, reports),
      moveWorkloads(call, { ...healing, replacement: "withoutGap" }, moveReports),
      removeOrphanedTargets(call, publishing, progress),
      reportStatus(call, client, { attachments: cluster.attachments, sources: sources.registry }),
    ]);
  }
}

/** As src/bin/node.ts builds them, with fakes for the kernel, communication volumes, pins, credentials, swaps and files of 1.x. */
function roomsOf(machine: Machine, process: SimulatedProcess) {
  const metrics = new NodeMetrics();
  const kernel = machine.kernelFor(process);
  const mounts = nodeMounts(kubeletDir, kernel);
  const cluster = {
    attachments: new Attachments("ask the controller"),
    mountpointPods: new MountpointPods("mount-s3"),
    mountS3Log: async () => "",
    kubernetesVersion: () => "v1.36.3",
  };
  const driverCredentials = fixedCredentials(credentialsOf("driver"));
  const stores = storesWith();
  const records = nodeRecords(machine.records);
  const credentials = {
    stores,
    records: records.mounts,
    drivers: atDefaultStore(driverCredentials),
    sessions: noSessions,
    comm: machine.commFor(process),
  };
  const files = { keep: () => undefined, remove: () => undefined, removeUnless: () => [] };
  const v1 = { attachments: cluster.attachments, driverCredentials, files };
  const registry = new SourceRegistry(new DeadDevices(() => ({ [Symbol.dispose]: () => undefined })));
  const shared = { mounts, cluster, records: records.mounts };
  const sources = {
    ...shared,
    stores,
    credentials,
    metrics,
    hangLimitMs: 600_000,
    exportsFigures: false,
    registry,
    unmounts: new WorkQueue<PodName>(),
  };
  const settings = {
    nodeId: "node",
    stores,
    podIdentity: false,
    proxy: {},
    pidNamespaces: { usual: "private", inHostPids: false } as const,
    fallbackToDriverCredentials: true,
    driverVersion: "3.0.0",
    entersContainers: true,
  };
  const healing = { mounts, cluster, sources, records, metrics, swapper: machine.swapper() };
  return {
    cluster,
    sources,
    healing,
    publishing: publishRoom({ ...shared, settings, credentials, sources, v1, metrics }),
  };
}

/** Throws for a volume with invalid attributes. */
function intentOf({ workload, persistentVolume, attributes, fsGroup, hasSecret, ...volume }: Volume): PublishIntent {
  return {
    ...volume,
    workload,
    persistentVolume,
    target: targetPath(kubeletDir, { workload, persistentVolume }),
    workloadName: { namespace: "shop", name: workload },
    attributes: parseVolumeAttributes(attributes),
    readOnly: false,
    fsGroup,
    access: hasSecret ? secretAccess(credentialsOf("own")) : driverAccess,
    token: undefined,
    store: usualStore,
    region: undefined,
  };
}
