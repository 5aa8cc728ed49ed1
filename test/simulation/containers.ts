/** The Mountpoint Pods of a node: the scheduler binds them, and kubelet runs, restarts and removes their containers. */
import { mountpointContainer, type NodeName, type PodName, type PodUid } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import { hasRoom } from "./cluster-nodes.ts";
import type { Machine } from "./machine.ts";
import { isDown, isTerminating, phaseOf, uidOf } from "./pod-state.ts";
import { brokenImage } from "./release.ts";

export interface ContainerOptions {
  readonly name: NodeName;
  readonly server: ApiServer;
  readonly machine: Machine;
  readonly now: () => Date;
  readonly happens: (probability: number) => boolean;
  readonly story: (line: string) => void;
}

export class Containers {
  readonly #options: ContainerOptions;
  readonly #pods = new Set<PodUid>();

  constructor(options: ContainerOptions) {
    this.#options = options;
  }

  sync(pods: readonly Pod[]): void {
    for (const pod of pods) this.#sync(pod);
    const listed = new Set(pods.map(uidOf));
    // Of a Pod that was deleted by force.
    for (const uid of this.#pods) if (!listed.has(uid) && this.#options.happens(0.3)) this.#removeContainer(uid);
  }

  #sync(pod: Pod): void {
    const phase = phaseOf(pod);
    if (phase === "Pending") this.#begin(pod);
    else if (phase === "Running") this.#follow(pod);
    else {
      // Evicted: kubelet stops the containers.
      this.#options.machine.kill(uidOf(pod));
      if (isTerminating(pod)) this.#remove(pod);
    }
  }

  #begin(pod: Pod): void {
    const { happens } = this.#options;
    if (pod.spec.nodeName === undefined) {
      if (happens(0.7)) this.#schedule(pod);
    } else if (isTerminating(pod)) this.#remove(pod);
    else if (happens(0.5)) this.#start(pod);
  }

  /** As the scheduler. */
  #schedule({ metadata }: Pod): void {
    const { server, name } = this.#options;
    const verdict = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "1 Too many pods" };
    const isPossible = hasRoom(server, name);
    const change = isPossible ? { spec: { nodeName: name } } : { status: { conditions: [verdict] } };
    server.patch(kinds.pods, metadata, change);
  }

  #follow(pod: Pod): void {
    const { machine, story, name, happens } = this.#options;
    // A mounter ends with SIGTERM until it has been asked to mount.
    if (isTerminating(pod) && happens(0.5)) machine.terminate(uidOf(pod));
    const exitCode = machine.exitCode(uidOf(pod));
    if (this.#isOver(pod, exitCode)) {
      story(`${name}: kubelet removes ${pod.metadata.name}`);
      this.#remove(pod);
    } else if (exitCode === 0) {
      story(`${name}: mount-s3 of ${pod.metadata.name} has ended`);
      this.#report(pod, "Succeeded", { terminated: { exitCode } });
    } else if (exitCode !== undefined) this.#restart(pod, exitCode);
  }

  /** Its grace period is over, or it is being deleted and nothing runs in it. */
  #isOver(pod: Pod, exitCode: number | undefined): boolean {
    const { deletionTimestamp } = pod.metadata;
    if (deletionTimestamp === undefined) return false;
    return (exitCode ?? 0) !== 0 || this.#options.now().getTime() >= Date.parse(deletionTimestamp);
  }

  #restart(pod: Pod, exitCode: number): void {
    if (!isDown(pod)) this.#report(pod, "Running", { terminated: { exitCode } }, 1);
    else if (this.#options.happens(0.5)) this.#start(pod);
  }

  #start(pod: Pod): void {
    const [container] = (pod.spec as { containers?: readonly { image?: string }[] }).containers ?? [];
    if (container?.image === brokenImage) {
      return this.#report(pod, "Pending", { waiting: { reason: "ErrImagePull", message: "not found" } });
    }
    this.#pods.add(uidOf(pod));
    this.#options.machine.start(uidOf(pod), pod.metadata.name as PodName);
    this.#report(pod, "Running", {});
  }

  #remove(pod: Pod): void {
    this.#removeContainer(uidOf(pod));
    this.#options.server.remove(kinds.pods, pod.metadata);
  }

  #removeContainer(uid: PodUid): void {
    this.#pods.delete(uid);
    this.#options.machine.remove(uid);
  }

  #report({ metadata, status }: Pod, phase: string, state: object, restarts = 0): void {
    const restartCount = (status?.containerStatuses?.[0]?.restartCount ?? 0) + restarts;
    const containerStatuses = [{ name: mountpointContainer, restartCount, state }];
    this.#options.server.patch(kinds.pods, metadata, { status: { phase, containerStatuses } });
  }
}
