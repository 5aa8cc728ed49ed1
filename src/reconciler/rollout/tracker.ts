/**
 * What the rollout knows of the Mountpoint Pods of the cluster. Every reconcile of a volume on a node notes here what it has observed, so
 * the rollout reacts to every change, and never looks at all Mountpoint Pods (SC-5).
 */
import type { NodeName, PodName, PodUid, PvName } from "../../core/names.ts";
import type { Observed, ObservedAttachment } from "../decision/decision.ts";
import { rolloutIn, usable } from "../decision/rollout-in.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { hasFailed, hasObsoleteRequest, type RolloutState } from "../domain/rollout.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { mayHaveStarted } from "../domain/workload.ts";

/** A Mountpoint Pod that the rollout is concerned with. */
export interface Tracked {
  readonly name: PodName;
  readonly uid: PodUid;
  readonly resourceVersion: string;
  readonly node: NodeName;
  readonly persistentVolume: PvName;
  /** Of the claim of the volume; empty: it has none. */
  readonly namespace: string;
  readonly state: RolloutState;
  /** The rollout could not move its workloads. An operator may have asked since. */
  readonly hasFailed: boolean;
  /** It has a request of another rollout. */
  readonly isObsolete: boolean;
  /** Whether one of its workloads may have its mount: a move begins only then. */
  readonly isMounted: boolean;
  /** Whether its node plugin reports that the mount serves. One of 2.x reports nothing, and mounts no successor. */
  readonly isServing: boolean;
  /** Its workloads are listed at its successor: the node plugin replaces their mounts. */
  readonly isLeft: boolean;
  /** When the reconciler has written that it is left; undefined: it has not, or is about to. */
  readonly leftSince: Date | undefined;
}

export const noCounts: Readonly<Record<RolloutState, 0>> = {
  current: 0,
  outdated: 0,
  moving: 0,
  failed: 0,
  skipped: 0,
};

export class RolloutTracker {
  readonly #byKey = new Map<VolumeOnNodeKey, readonly Tracked[]>();
  readonly #counts: Record<RolloutState, number> = { ...noCounts };
  readonly #outdated = new Map<NodeName, Map<PodName, Tracked>>();
  readonly #moving = new Map<PodName, Tracked>();
  readonly #failed = new Map<PodName, Tracked>();
  readonly #obsolete = new Map<PodName, Tracked>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get counts(): Readonly<Record<RolloutState, number>> {
    return this.#counts;
  }

  /** By node; a node without outdated ones is left out. */
  get outdated(): ReadonlyMap<NodeName, ReadonlyMap<PodName, Tracked>> {
    return this.#outdated;
  }

  get moving(): ReadonlyMap<PodName, Tracked> {
    return this.#moving;
  }

  get failed(): ReadonlyMap<PodName, Tracked> {
    return this.#failed;
  }

  get obsolete(): ReadonlyMap<PodName, Tracked> {
    return this.#obsolete;
  }

  /** The Mountpoint Pods of one volume on one node, as they are now. */
  note(key: VolumeOnNodeKey, pods: readonly Tracked[]): void {
    const before = this.#byKey.get(key) ?? [];
    for (const pod of before) this.#remove(pod);
    for (const pod of pods) this.#add(pod);
    if (pods.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, pods);
    if (!isSame(before, pods)) this.#onChange();
  }

  #add(pod: Tracked): void {
    this.#counts[pod.state] += 1;
    if (pod.isObsolete) this.#obsolete.set(pod.name, pod);
    if (pod.state === "outdated") {
      const onNode = this.#outdated.get(pod.node) ?? new Map<PodName, Tracked>();
      this.#outdated.set(pod.node, onNode.set(pod.name, pod));
    }
    if (pod.state === "moving") this.#moving.set(pod.name, pod);
    if (pod.hasFailed) this.#failed.set(pod.name, pod);
  }

  #remove(pod: Tracked): void {
    this.#counts[pod.state] -= 1;
    for (const pods of [this.#obsolete, this.#moving, this.#failed]) pods.delete(pod.name);
    const onNode = this.#outdated.get(pod.node);
    if (onNode?.delete(pod.name) === true && onNode.size === 0) this.#outdated.delete(pod.node);
  }
}

/** Versions do not count: kubelet writes the status of a Pod often. */
function isSame(before: readonly Tracked[], after: readonly Tracked[]): boolean {
  if (before.length !== after.length) return false;
  return before.every((pod, index) => {
    const other = after[index];
    if (pod.leftSince?.getTime() !== other?.leftSince?.getTime()) return false;
    return compared.every((field) => pod[field] === other?.[field]);
  });
}

const compared = [
  ...(["name", "uid", "state", "namespace"] as const),
  ...(["hasFailed", "isObsolete", "isMounted", "isServing", "isLeft"] as const),
];

export function trackedIn(observed: Observed): readonly Tracked[] {
  return observed.mountpointPods.flatMap((pod) => tracked(observed, pod) ?? []);
}

function tracked(observed: Observed, pod: ReportedMountpointPod): Tracked | undefined {
  const { name, uid, resourceVersion, node, persistentVolume } = pod;
  const attachment = observed.attachments.find(({ spec }) => name in spec.mountpointS3PodAttachments);
  const state = attachment && rolloutIn(observed, attachment, pod);
  if (state === undefined) return undefined;
  const served = servedBy(attachment, name);
  return {
    ...{ name, uid, resourceVersion, node, persistentVolume, state },
    namespace: namespaceOf(observed),
    hasFailed: state === "failed" || (state === "moving" && served.size > 0 && isRepeated(observed, pod)),
    isObsolete: hasObsoleteRequest(pod, usable(observed.volume), observed.current),
    isMounted: observed.workloads.some((workload) => served.has(workload.uid) && mayHaveStarted(workload)),
    isServing: attachment?.sources?.[name]?.health === "serving",
    isLeft: served.size === 0,
    leftSince: served.size === 0 ? pod.needsUnmountSince : undefined,
  };
}

function servedBy(attachment: ObservedAttachment | undefined, name: PodName): ReadonlySet<string> {
  const listed = attachment?.spec.mountpointS3PodAttachments[name] ?? [];
  return new Set<string>(listed.map(({ workloadPodUID }) => workloadPodUID));
}

function namespaceOf({ volume }: Observed): string {
  return usable(volume)?.claim?.split("/", 1)[0] ?? "";
}

/** What an operator asks for meanwhile must not let the rollout go on. */
function isRepeated({ volume, current }: Observed, pod: ReportedMountpointPod): boolean {
  const served = usable(volume);
  return served !== undefined && hasFailed(pod, served, current);
}
