/** A node: scheduler, kubelet and node plugin, as far as the reconciler depends on them. They look at the API server now and then. */
import { holderOf } from "../../src/core/attachment.ts";
import { type NodeView, statusManagers } from "../../src/core/attachment-status.ts";
import { mountpointPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import { annotations, mountpointContainer, type NodeName, type PodUid } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import type { ObservedAttachment } from "../../src/reconciler/decision/decision.ts";
import type { ApiServer } from "./api-server.ts";
import type { Chance } from "./chance.ts";

export interface NodeOptions {
  readonly server: ApiServer;
  readonly chance: Chance;
  readonly name: NodeName;
  readonly now: () => Date;
  readonly story: (line: string) => void;
}

export class SimulatedNode {
  readonly name: NodeName;
  /** Workload → the Mountpoint Pod whose source it has a bind mount of. Only kubelet removes a bind mount. */
  readonly binds = new Map<PodUid, string>();
  /** Workloads whose containers have run to their end. */
  readonly completed = new Set<PodUid>();
  readonly #options: NodeOptions;
  /** Workloads as kubelet saw them when it looked last. */
  #known = new Map<PodUid, Pod>();

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
  }

  hasBinds(mountpointPod: string): boolean {
    return [...this.binds.values()].includes(mountpointPod);
  }

  sync(): void {
    const { server } = this.#options;
    const pods = server.all(kinds.pods);
    const mountpointPods = pods.filter((pod) => mountpointPodFrom(pod)?.node === this.name);
    const workloads = pods.filter((pod) => pod.spec.nodeName === this.name && mountpointPodFrom(pod) === undefined);
    for (const pod of mountpointPods) this.#syncMountpointPod(pod);
    const seen = new Map(workloads.map((pod) => [uidOf(pod), pod]));
    for (const [uid, pod] of new Map([...seen, ...this.#known])) this.#startWorkload(pod, seen.get(uid));
    for (const pod of workloads) this.#followWorkload(pod);
    for (const uid of this.binds.keys()) if (!seen.has(uid)) this.#endGhost(uid);
    this.#known = seen;
    this.#heal();
    this.#report();
  }

  #happens(probability: number): boolean {
    return this.#options.chance.happens(`node ${this.name}`, probability);
  }

  #syncMountpointPod(pod: Pod): void {
    const phase = pod.status?.phase ?? "Pending";
    const isTerminating = pod.metadata.deletionTimestamp !== undefined;
    if (phase === "Pending") this.#startMountpointPod(pod, isTerminating);
    else if (phase === "Running") this.#serve(pod);
    else if (isTerminating) this.#options.server.remove(kinds.pods, pod.metadata);
  }

  #startMountpointPod(pod: Pod, isTerminating: boolean): void {
    if (pod.spec.nodeName === undefined) this.#schedule(pod);
    else if (isTerminating) this.#options.server.remove(kinds.pods, pod.metadata);
    else if (this.#happens(0.5)) this.#reportContainer(pod, "Running", {});
  }

  #schedule({ metadata }: Pod): void {
    if (this.#happens(0.7)) this.#options.server.patch(kinds.pods, metadata, { spec: { nodeName: this.name } });
  }

  /** The node plugin unmounts a source without bind mounts, and mount-s3 ends. kubelet restarts a container that has failed. */
  #serve(pod: Pod): void {
    const { server, now, story } = this.#options;
    const { name, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined && now().getTime() >= Date.parse(deletionTimestamp)) {
      story(`${this.name}: kubelet kills ${name}`);
      return server.remove(kinds.pods, pod.metadata);
    }
    if (isAnnotated(pod) && !this.hasBinds(name)) {
      if (!this.#happens(0.5)) return;
      story(`${this.name}: the node plugin unmounts ${name}`);
      return this.#reportContainer(pod, "Succeeded", { terminated: { exitCode: 0 } });
    }
    if (isDown(pod) && this.#happens(0.5)) this.#reportContainer(pod, "Running", {});
  }

  /** A container of a Mountpoint Pod fails. */
  crash(pod: Pod): void {
    if (pod.status?.phase !== "Running") return;
    this.#reportContainer(pod, "Running", { terminated: { exitCode: 1 } }, 1);
  }

  #reportContainer({ metadata, status }: Pod, phase: string, state: object, restarts = 0): void {
    const restartCount = (status?.containerStatuses?.[0]?.restartCount ?? 0) + restarts;
    const containerStatuses = [{ name: mountpointContainer, restartCount, state }];
    this.#options.server.patch(kinds.pods, metadata, { status: { phase, containerStatuses } });
  }

  /** kubelet may know less than the API server has: it may start a container of a Pod that is being deleted. */
  #startWorkload(known: Pod, now: Pod | undefined): void {
    const uid = uidOf(known);
    if (this.binds.has(uid) || this.completed.has(uid) || (now !== undefined && phaseOf(now) !== "Pending")) return;
    const pod = this.#happens(0.5) ? known : now;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    const source = this.#mountable(uid);
    if (source === undefined || !this.#happens(0.6)) return;
    this.#options.story(`${this.name}: ${uid} is mounted from ${source.metadata.name}`);
    this.binds.set(uid, source.metadata.name);
  }

  #mountable(uid: PodUid): Pod | undefined {
    const holder = this.#attachments().flatMap(
      ({ spec }) => holderOf(spec as ObservedAttachment["spec"], uid) ?? [],
    )[0];
    const pod = this.#options.server.all(kinds.pods).find(({ metadata }) => metadata.name === holder);
    return pod?.status?.phase === "Running" && !isAnnotated(pod) && !isDown(pod) ? pod : undefined;
  }

  #followWorkload(pod: Pod): void {
    const uid = uidOf(pod);
    const isTerminating = pod.metadata.deletionTimestamp !== undefined;
    const hasEnded = phaseOf(pod) === "Succeeded" || (isTerminating && !this.binds.has(uid));
    if (hasEnded) this.#tidyUp(pod, isTerminating);
    else if ((isTerminating || this.completed.has(uid)) && this.#happens(0.3)) this.#reportWorkload(pod, "Succeeded");
    else if (phaseOf(pod) === "Pending" && this.binds.has(uid) && this.#happens(0.5))
      this.#reportWorkload(pod, "Running");
  }

  /** The bind mount goes after the last container, and the object after the bind mount. */
  #tidyUp(pod: Pod, isTerminating: boolean): void {
    if (!this.binds.delete(uidOf(pod)) && isTerminating) this.#options.server.remove(kinds.pods, pod.metadata);
  }

  #reportWorkload(pod: Pod, phase: "Running" | "Succeeded"): void {
    if (phase === "Succeeded") this.completed.add(uidOf(pod));
    this.#options.server.patch(kinds.pods, pod.metadata, { status: { phase } });
  }

  /** A Pod that was deleted by force: its containers run until kubelet has stopped them. */
  #endGhost(uid: PodUid): void {
    if (this.#happens(0.1)) this.binds.delete(uid);
  }

  /** A workload whose Mountpoint Pod has ended gets the source of its new one. */
  #heal(): void {
    for (const [uid, name] of this.binds) {
      const pod = this.#options.server.all(kinds.pods).find(({ metadata }) => metadata.name === name);
      const isServed = pod?.status?.phase === "Running";
      const source = isServed ? undefined : this.#mountable(uid);
      if (source !== undefined) this.binds.set(uid, source.metadata.name);
    }
  }

  /** DS-14. What the node plugin writes about the sources. */
  #report(): void {
    const { server } = this.#options;
    for (const { metadata, spec } of this.#attachments()) {
      const mountpointPods: Record<string, NodeView> = {};
      for (const name of Object.keys(spec.mountpointS3PodAttachments)) {
        const pod = server.all(kinds.pods).find((each) => each.metadata.name === name);
        const health = pod?.status?.phase === "Running" ? "serving" : "absent";
        mountpointPods[name] = { health, ...(pod && isAnnotated(pod) && { inUse: this.hasBinds(name) }) };
      }
      const applied = { manager: statusManagers.node, status: { conditions: [], mountpointPods } };
      server.applyStatus(kinds.attachments, metadata, applied);
    }
  }

  #attachments(): readonly MountpointS3PodAttachment[] {
    return this.#options.server.all(kinds.attachments).filter(({ spec }) => spec.nodeName === this.name);
  }
}

export function isAnnotated({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotations.needsUnmount] === "true";
}

/** Its container has exited. */
export function isDown({ status }: Pod): boolean {
  return status?.containerStatuses?.[0]?.state?.terminated !== undefined;
}

function phaseOf({ status }: Pod): string {
  return status?.phase ?? "Pending";
}

function uidOf({ metadata }: Pod): PodUid {
  return metadata.uid as PodUid;
}
