/** What happens around the reconciler of the model, by workloads, kubelet, node plugin, scheduler and operators. */

import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import type { PodUid } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Workload } from "../domain/workload.ts";
import { volume } from "./situation.fixture.ts";
import { claim, VolumeOnNodeModel } from "./volume-on-node-model.fixture.ts";

export class World {
  readonly model = new VolumeOnNodeModel();
  #usual: Partial<S3Volume> = {};
  #count = 0;

  /** What differs in the volume of this world, until its end, from that of the others. */
  usually(but: Partial<S3Volume>): void {
    this.#usual = but;
    this.volumeBecomes({});
    this.model.deliverAll();
  }

  comes(but: Pick<Workload, "fsGroup"> & Partial<Workload>): void {
    this.#count += 1;
    this.model.come(`w${this.#count}` as PodUid, but);
  }

  ends({ uid }: Workload): void {
    this.model.binds.delete(uid);
    this.model.remove("workloads", uid);
  }

  /** A forced deletion: the containers keep running, and kubelet unmounts nothing before they have ended. */
  vanishesFromApi({ uid }: Workload): void {
    this.model.remove("workloads", uid);
  }

  /** kubelet stops the containers of Pods that the API server does not have any more. */
  ghostsEnd(): void {
    for (const uid of [...this.model.binds.keys()])
      if (!this.model.truth.workloads.has(uid)) this.model.binds.delete(uid);
  }

  terminates(workload: Workload): void {
    this.model.put("workloads", workload.uid, { ...workload, terminating: true });
  }

  isUnbound(): void {
    this.model.remove("claims", "shop/data");
  }

  isBound(): void {
    this.model.put("claims", "shop/data", claim);
  }

  volumeGoes(): void {
    this.model.remove("volumes", volume.name);
  }

  /** An operator creates the volume, edits it, or makes it invalid. */
  volumeBecomes(but: Partial<S3Volume> | "refused"): void {
    const { name } = volume;
    this.model.put("volumes", name, but === "refused" ? { name, refused: "it has no bucket" } : this.#volume(but));
  }

  #volume(but: Partial<S3Volume>): S3Volume {
    return { ...volume, ...this.#usual, ...but };
  }

  runs(workload: Workload): void {
    this.startsContainer(workload);
    this.reports(workload);
  }

  /** kubelet starts a container once the node plugin has mounted the volume, and not for a workload that is being deleted. */
  startsContainer({ uid, terminating, phase }: Workload): void {
    const [holder = ""] = this.model.holdersOf(uid);
    const pod = this.model.truth.mountpointPods.get(holder);
    const isMountable = pod?.phase === "running" && !pod.needsUnmount;
    if (phase === "pending" && !terminating && isMountable) this.model.binds.set(uid, holder);
  }

  /** kubelet reports that a container has started, perhaps long after the start, and after the deletion of the Pod. */
  reports(workload: Workload): void {
    const isNew = workload.phase === "pending" && this.model.binds.has(workload.uid);
    if (isNew) this.model.put("workloads", workload.uid, { ...workload, phase: "running" });
  }

  starts({ name, phase }: ReportedMountpointPod): void {
    if (phase === "pending") this.model.change(name, { phase: "running", scheduled: true, problem: undefined });
  }

  findsNoRoom({ name, scheduled }: ReportedMountpointPod): void {
    if (!scheduled) this.model.change(name, { problem: { kind: "unschedulable", cause: "is too large", fix: "" } });
  }

  crashes({ name, phase, restarts, problem: before }: ReportedMountpointPod): void {
    const problem = { kind: "crashing", cause: "is down", fix: "" } as const;
    const isUp = phase === "running" && before?.kind !== "ended";
    if (isUp) this.model.change(name, { problem, restarts: restarts + 1 });
  }

  isAnnotatedByHand({ name }: ReportedMountpointPod): void {
    this.model.hasForeignAnnotations = true;
    this.model.change(name, { needsUnmount: true });
  }

  crashesAnnotated(pod: ReportedMountpointPod): void {
    this.isAnnotatedByHand(pod);
    this.crashes(pod);
  }

  /** The container exits with code 0, and an injected sidecar keeps the Pod running. */
  exitsCleanly({ name, phase }: ReportedMountpointPod): void {
    const problem = { kind: "ended", cause: "has ended", fix: "" } as const;
    if (phase === "running") this.model.change(name, { problem });
  }

  backsOff({ name, problem }: ReportedMountpointPod): void {
    const lasting = { kind: "backingOff", cause: "is down for a while", fix: "" } as const;
    if (problem?.kind === "crashing") this.model.change(name, { problem: lasting });
  }

  isRestarted({ name, problem }: ReportedMountpointPod): void {
    const isDown = problem?.kind === "crashing" || problem?.kind === "backingOff" || problem?.kind === "notRestarting";
    if (isDown) this.model.change(name, { problem: undefined });
  }

  /** The Pod serves until its grace period is over, which may be never. */
  isDeleted({ name, terminating }: ReportedMountpointPod): void {
    if (!terminating) this.model.change(name, { terminating: true, deletionAskedAt: this.model.now });
  }

  unmounts({ name, phase, needsUnmount, problem }: ReportedMountpointPod): void {
    const bound = this.model.isBound(name);
    const isUp = phase === "running" && problem?.kind !== "ended";
    if (isUp && needsUnmount && !bound) this.model.change(name, { phase: "succeeded" });
  }

  /** kubelet removes the Pod once it has stopped its containers. */
  removes({ name, terminating }: MountpointPod): void {
    if (terminating) this.model.remove("mountpointPods", name);
  }

  dies({ name }: MountpointPod): void {
    this.model.change(name, { phase: "failed" });
  }

  vanishes({ name }: MountpointPod): void {
    this.model.remove("mountpointPods", name);
  }
}
