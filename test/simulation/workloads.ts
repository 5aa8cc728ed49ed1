/** The workloads of a node: kubelet publishes their volumes, starts and stops their containers, and unpublishes the volumes. */
import type { NodeName, PodUid, PvName } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import type { Machine } from "./machine.ts";
import type { NodePlugin } from "./node-plugin.ts";
import { isTerminating, phaseOf, uidOf } from "./pod-state.ts";
import { volumeOf } from "./volumes.ts";

export interface WorkloadOptions {
  readonly name: NodeName;
  readonly server: ApiServer;
  readonly machine: Machine;
  readonly plugin: NodePlugin;
  readonly happens: (probability: number) => boolean;
  readonly story: (line: string) => void;
}

export class Workloads {
  readonly #options: WorkloadOptions;
  /** As kubelet saw them when it looked last. */
  #known = new Map<PodUid, Pod>();
  /** Those with a running container. */
  readonly #started = new Set<PodUid>();
  readonly #completed = new Set<PodUid>();
  /** Volumes that kubelet has asked to publish, and that are not unpublished. */
  readonly #volumes = new Map<PodUid, PvName>();
  /** Workload → the process of the node plugin that has not answered yet. */
  readonly #asked = new Map<PodUid, number>();

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  sync(pods: readonly Pod[]): void {
    const seen = new Map(pods.map((pod) => [uidOf(pod), pod]));
    for (const [uid, pod] of new Map([...seen, ...this.#known])) this.#start(pod, seen.get(uid));
    for (const pod of pods) this.#follow(pod);
    for (const uid of this.#volumes.keys()) if (!seen.has(uid)) this.#stopDeletedByForce(uid);
    this.#known = seen;
  }

  complete(pod: Pod): void {
    this.#completed.add(uidOf(pod));
  }

  /** kubelet may know less than the API server has: it may start a container of a Pod that is being deleted. */
  #start(known: Pod, now: Pod | undefined): void {
    const { happens, story, name, machine } = this.#options;
    const uid = uidOf(known);
    if (this.#started.has(uid) || this.#completed.has(uid) || phaseOf(now ?? known) !== "Pending") return;
    const pod = happens(0.5) ? known : now;
    if (pod === undefined || isTerminating(pod) || !happens(0.6)) return;
    this.#publish(pod, () => {
      const latest = this.#known.get(uid);
      if (latest === undefined || isTerminating(latest) || this.#completed.has(uid)) return;
      story(`${name}: ${uid} starts on ${machine.binds.get(uid)}`);
      this.#started.add(uid);
      machine.startWorkload(uid);
    });
  }

  /** One call at a time. */
  #publish(pod: Pod, onSuccess: () => void): void {
    const { plugin, server } = this.#options;
    const uid = uidOf(pod);
    const volume = volumeOf(server, pod);
    if (volume === undefined || !plugin.isRunning || this.#asked.get(uid) === plugin.generation) return;
    this.#asked.set(uid, plugin.generation);
    this.#volumes.set(uid, volume.persistentVolume);
    plugin.publish(volume, (error) => {
      this.#asked.delete(uid);
      if (error === undefined) onSuccess();
    });
  }

  #follow(pod: Pod): void {
    const hasStarted = this.#started.has(uidOf(pod));
    const isOver = isTerminating(pod) || this.#completed.has(uidOf(pod));
    if (phaseOf(pod) === "Succeeded" || (isTerminating(pod) && !hasStarted)) this.#tidyUp(pod);
    else if (isOver) this.#stop(pod);
    else if (hasStarted) this.#serve(pod);
  }

  #serve(pod: Pod): void {
    const { happens } = this.#options;
    if (phaseOf(pod) === "Pending") {
      if (happens(0.5)) this.#report(pod, "Running");
    } else if (happens(0.05)) this.#publish(pod, () => undefined); // requiresRepublish
  }

  /** The bind mount goes after the last container, and the object after the bind mount. */
  #tidyUp(pod: Pod): void {
    if (this.#unpublish(uidOf(pod)) && isTerminating(pod)) this.#options.server.remove(kinds.pods, pod.metadata);
  }

  #stop(pod: Pod): void {
    if (!this.#options.happens(0.3)) return;
    this.#stopContainer(uidOf(pod));
    this.#completed.add(uidOf(pod));
    this.#report(pod, "Succeeded");
  }

  #report(pod: Pod, phase: "Running" | "Succeeded"): void {
    this.#options.server.patch(kinds.pods, pod.metadata, { status: { phase } });
  }

  /** A Pod that was deleted by force: its containers run until kubelet has stopped them. */
  #stopDeletedByForce(uid: PodUid): void {
    if (!this.#options.happens(0.1)) return;
    this.#stopContainer(uid);
    this.#unpublish(uid);
  }

  #stopContainer(uid: PodUid): void {
    this.#started.delete(uid);
    this.#options.machine.stopWorkload(uid);
  }

  /** True: nothing of the workload is mounted. */
  #unpublish(uid: PodUid): boolean {
    const volume = this.#volumes.get(uid);
    if (volume === undefined) return true;
    if (!this.#options.plugin.unpublish(uid, volume)) return false;
    this.#volumes.delete(uid);
    return true;
  }
}
