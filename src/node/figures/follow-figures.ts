import { DriverError } from "../../core/errors.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import { podUidOf, processesOfPods } from "../../linux/process/processes.ts";
import { loopbackSocket, networkIdOf, networkOf } from "../../linux/socket/inside-network.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { lookRegularly } from "../mounts/look-regularly.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import { exportPort, mayExport } from "./export.ts";
import type { FigureReceivers } from "./figure-receivers.ts";

/** The networks of Pods, found by their processes. */
export interface PodNetworks {
  /** Processes of these Pods, in one pass over all processes of the node. */
  find(pods: ReadonlySet<PodUid>): Promise<ReadonlyMap<string, readonly number[]>>;
  /** The descriptor of a socket that is bound to the export port of the loopback address; it belongs to the caller. */
  open(pod: PodUid, processes: readonly number[]): Promise<number>;
}

interface Parts {
  readonly receivers: FigureReceivers;
  readonly networks: PodNetworks;
  readonly mounts: Pick<NodeMounts, "table">;
  readonly mountpointPods: Pick<MountpointPods, "get" | "store">;
}

/** A Pod without a process, or whose network cannot be entered, is tried again after this time. */
const retryMs = 60_000;

/**
 * Receives from every mount-s3 that serves a source, also if an earlier node plugin started it, and from no other. A mount does not wait for
 * it: mount-s3 exports for the first time after 15 s, and then everything since its start. Runs until the call ends.
 */
export async function followFigures(call: Call, parts: Parts, progress: Pulses): Promise<void> {
  await parts.mountpointPods.store.synced(call);
  const follower = new FigureFollower(parts);
  await lookRegularly(call, progress, "mounts without figures", () => {
    inBackground(call.log, "listening for figures of mounts", follower.look(call));
  });
}

export class FigureFollower {
  readonly #parts: Parts;
  readonly #notBefore = new Map<PodName, number>();
  readonly #problems = new ProblemLog();
  #isLooking = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** One pass at a time: a pass reads the processes of the node once for all Pods. Never rejects. */
  async look(call: Call, nowMs = performance.now()): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#pass(call, nowMs);
      this.#problems.resolve("pass");
    } catch (error) {
      if (!call.signal.aborted) this.#problems.report(call.log, "pass", "could not listen for figures", { error });
    } finally {
      this.#isLooking = false;
    }
  }

  async #pass(call: Call, nowMs: number): Promise<void> {
    const { receivers, networks, mounts, mountpointPods } = this.#parts;
    const sources = new Set(mounts.table().sourceNames);
    for (const name of receivers.names) if (!sources.has(name)) receivers.drop(name);
    for (const name of this.#notBefore.keys()) if (!sources.has(name)) this.#notBefore.delete(name);
    const missing = [...sources].flatMap((name) => {
      const pod = mountpointPods.get(name);
      return pod !== undefined && this.#isDue(pod, nowMs) ? [pod] : [];
    });
    if (missing.length === 0) return;
    const processes = await networks.find(new Set(missing.map(({ uid }) => uid)));
    for (const pod of missing) {
      this.#notBefore.set(pod.name, nowMs + retryMs);
      await this.#listen(call, pod, processes.get(pod.uid) ?? []);
    }
  }

  #isDue(pod: LocalMountpointPod, nowMs: number): boolean {
    const isWaiting = nowMs < (this.#notBefore.get(pod.name) ?? 0);
    return mayExport(pod) && !isWaiting && !this.#parts.receivers.isListening(pod);
  }

  async #listen(call: Call, pod: LocalMountpointPod, processes: readonly number[]): Promise<void> {
    const { receivers, networks } = this.#parts;
    try {
      await receivers.listen(call.log, pod, await networks.open(pod.uid, processes));
    } catch (error) {
      call.log.debug("no figures of this mount", { mountpointPod: pod.name, error });
    }
  }
}

/** Enters the network of a Pod by one of its processes. */
export function networksOn(hostProc: string): PodNetworks {
  return {
    find: (pods) => processesOfPods(hostProc, pods),
    open: async (uid, processes) => {
      const ofHost = networkIdOf(hostProc, 1);
      for (const pid of processes) {
        // conmon of CRI-O is in the cgroup of the Pod, and in the network of the host.
        if (networkIdOf(hostProc, pid) === ofHost) continue;
        using network = networkOf(hostProc, pid);
        // The pid may have been given to another process since the processes were read.
        if (podUidOf(hostProc, pid) !== uid) continue;
        return (await loopbackSocket(network, exportPort)).release();
      }
      throw new DriverError("notReady", `no process of the Pod ${uid} is in a network of its own`);
    },
  };
}
