/**
 * WM-1. Which waiting Mountpoint Pod belongs to whom, while the write that says so is on its way. Two volumes on one node are reconciled at
 * the same time, and a Mountpoint Pod may also be about to be deleted. A claim is made in the same turn of the event loop as the decision.
 * It stays after a write that failed, because the API server may have accepted it: only the same attachment may list the Pod then.
 */
import type { PodName, PvName } from "../../core/names.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { type ReportedWaitingPod, takesWarmPod, warmSettings } from "../domain/mountpoint-pod/warm-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import { type VolumeOnNode, type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { View } from "../observe/view.ts";

interface Claim {
  readonly by: VolumeOnNodeKey;
  /** The name of the attachment that is to list it. */
  readonly attachment: string;
  readonly atMs: number;
}

type Volumes = Pick<View, "waitingPods" | "attachments" | "volumes">;

export class WarmPool implements Disposable {
  readonly #view: Volumes;
  readonly #config: MountpointPodConfig;
  readonly #plain: string;
  readonly #claims = new Map<PodName, Claim>();
  /** The version with which the deletion was requested. */
  readonly #deletions = new Map<PodName, string>();
  readonly #takes = new WeakMap<S3Volume, boolean>();
  readonly #removals: Disposable;
  #roots = "";

  constructor(view: Volumes, config: MountpointPodConfig) {
    this.#view = view;
    this.#config = config;
    this.#plain = warmSettings(config);
    this.#removals = view.waitingPods.subscribe(({ before, after }) => {
      if (before === undefined || after !== undefined) return;
      this.#claims.delete(before.name);
      this.#deletions.delete(before.name);
    });
  }

  [Symbol.dispose](): void {
    this.#removals[Symbol.dispose]();
  }

  /** The settings of Mountpoint Pods that are created now, with the certificate authority that their init container installs. */
  get settings(): string {
    return `${this.#plain}${this.#roots}`;
  }

  /** Mountpoint Pods with another certificate authority are outdated. `roots` identifies its certificates. */
  trust(roots: string): void {
    this.#roots = roots;
  }

  /** Those that this volume may take; first the ones that it has claimed before. */
  waitingFor(of: VolumeOnNode): readonly ReportedWaitingPod[] {
    if (this.#view.waitingPods.count("node", of.node) === 0 || !this.#takesWarm(of.persistentVolume)) return [];
    const key = volumeOnNodeKey(of);
    const claimant = ({ name }: ReportedWaitingPod) => this.#claims.get(name)?.by;
    const free = this.#view.waitingPods.by("node", of.node).filter((pod) => {
      const isClaimable = [undefined, key].includes(claimant(pod)) && !this.isToBeDeleted(pod);
      return isClaimable && !this.isListed(pod.name) && this.#isReady(pod);
    });
    return free.toSorted((a, b) => Number(claimant(b) === key) - Number(claimant(a) === key));
  }

  claim(name: PodName, by: VolumeOnNodeKey, attachment: string): void {
    this.#claims.set(name, { by, attachment, atMs: performance.now() });
  }

  /** The attachment for which it is claimed; undefined: for none. */
  claimedFor(name: PodName): string | undefined {
    return this.#claims.get(name)?.attachment;
  }

  /** The deletion must be requested with the version of the Pod as its precondition. */
  claimForDeletion({ name, resourceVersion }: ReportedWaitingPod): void {
    this.#deletions.set(name, resourceVersion);
  }

  /** For how long a volume has claimed it; undefined: none has. */
  claimedMs(name: PodName): number | undefined {
    const claim = this.#claims.get(name);
    return claim && performance.now() - claim.atMs;
  }

  /**
   * False again once the view shows another version of the Pod: the API server refuses a deletion whose precondition is an older
   * version, and a Pod whose deletion it has accepted is terminating in the next version.
   */
  isToBeDeleted({ name, resourceVersion }: ReportedWaitingPod): boolean {
    return this.#deletions.get(name) === resourceVersion;
  }

  isListed(name: PodName): boolean {
    return this.#view.attachments.count("warmPod", name) > 0;
  }

  #takesWarm(name: PvName): boolean {
    const volume = this.#view.volumes.get(name);
    if (volume === undefined || "refused" in volume) return false;
    const takes = this.#takes.get(volume) ?? takesWarmPod(this.#config, volume);
    this.#takes.set(volume, takes);
    return takes;
  }

  #isReady(pod: ReportedWaitingPod): boolean {
    const stays = !pod.terminating && !pod.needsUnmount && !pod.noNewWorkload;
    return stays && pod.phase === "running" && pod.problem === undefined && pod.warmSettings === this.settings;
  }
}
