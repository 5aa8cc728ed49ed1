/**
 * Which Mountpoint Pods and attachments one volume on one node should have. All judgement of the reconciler is here:
 * it sees no clock, no cache and no server, so every situation is a row of a table in the test.
 */
import {
  type Attachment,
  type AttachmentSpec,
  assignWorkload,
  dropMountpointPod,
  findAttachments,
  holderOf,
  idleMountpointPods,
  newAttachment,
  releaseWorkload,
  type SharingKey,
  sharingKey,
} from "../core/attachment.ts";
import type { MountpointPodPurpose } from "../core/mountpoint-pod.ts";
import { isAlive, isOpen, type MountpointPod } from "../core/mountpoint-pod-state.ts";
import { mountpointPodName, type NodeName, type PodName } from "../core/names.ts";
import type { S3Volume } from "../core/persistent-volume.ts";
import { needsVolumes, type Workload } from "../core/workload.ts";

/** Everything the decision may look at. What is not in here cannot influence the outcome. */
export interface Observed {
  readonly now: Date;
  readonly node: NodeName;
  /** undefined: there is no such PersistentVolume now, or it belongs to another driver. */
  readonly volume: S3Volume | Refusal | undefined;
  /** Workloads on this node with a claim bound to this volume, and those that the attachments list and that exist. */
  readonly workloads: readonly Workload[];
  readonly attachments: readonly ObservedAttachment[];
  readonly mountpointPods: readonly MountpointPod[];
  readonly driverVersion: string;
  /** From which age on a Mountpoint Pod that no attachment lists is a leftover. */
  readonly staleAfterMs: number;
}

/** A volume that cannot be served: what is wrong, and what to do about it. */
export interface Refusal {
  readonly refused: string;
}

export interface ObservedAttachment extends Attachment {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
}

export interface Decision {
  /** In this order: each relies on the earlier ones having been accepted. */
  readonly steps: readonly Step[];
  /** When time alone will change the decision. */
  readonly again: { readonly afterMs: number; readonly because: string } | undefined;
}

export type Step = { readonly because: string } & (
  | { readonly do: "report"; readonly workload: Workload; readonly problem: string }
  | { readonly do: "markForUnmount"; readonly mountpointPod: MountpointPod }
  | { readonly do: "deleteMountpointPod"; readonly mountpointPod: MountpointPod }
  | { readonly do: "createMountpointPod"; readonly workload: Workload; readonly purpose: MountpointPodPurpose }
  | { readonly do: "createAttachment"; readonly attachment: NewAttachment }
  | { readonly do: "rewriteAttachment"; readonly attachment: ObservedAttachment; readonly spec: AttachmentSpec }
  | { readonly do: "deleteAttachment"; readonly attachment: ObservedAttachment }
);

export type NewAttachment = ReturnType<typeof newAttachment>;

export function decide(observed: Observed): Decision {
  const draft = new Draft(observed);
  const needing = observed.workloads.filter(needsVolumes);
  draft.releaseAllBut(needing);
  for (const workload of draft.creatorsFirst(needing)) draft.place(workload);
  return draft.decision();
}

/** An attachment as it should become, and why. */
interface Entry extends Attachment {
  readonly now: ObservedAttachment | undefined;
  readonly spec: AttachmentSpec;
  /** A Mountpoint Pod to be created first. */
  readonly spawn: (Step & { do: "createMountpointPod" }) | undefined;
  readonly because: readonly string[];
}

/** The picture as it is becoming, workload after workload: those that come together share, as those that come later do. */
class Draft {
  readonly #observed: Observed;
  readonly #pods: ReadonlyMap<PodName, MountpointPod>;
  /** By name of the attachment. */
  readonly #entries: Map<string, Entry>;
  /** Mountpoint Pods that had lost their attachment and got it back in this decision. */
  readonly #restored = new Set<PodName>();
  readonly #reports: Step[] = [];
  #again: Decision["again"];

  constructor(observed: Observed) {
    this.#observed = observed;
    this.#pods = new Map(observed.mountpointPods.map((pod) => [pod.name, pod]));
    const entries = observed.attachments.map((now): Entry => ({ ...now, now, spawn: undefined, because: [] }));
    this.#entries = new Map(entries.map((entry) => [entry.metadata.name, entry]));
  }

  /** By UID, from every attachment that lists it, whatever the volume says now (LC-10). */
  releaseAllBut(needing: readonly Workload[]): void {
    const kept = new Set(needing.map(({ uid }) => uid));
    for (const entry of this.#entries.values()) {
      const listed = Object.values(entry.spec.mountpointS3PodAttachments).flat();
      const gone = listed.map(({ workloadPodUID }) => workloadPodUID).filter((uid) => !kept.has(uid));
      if (gone.length > 0) this.#put({ ...entry, spec: gone.reduce(releaseWorkload, entry.spec) }, "a workload ended");
    }
  }

  /** A Mountpoint Pod without an attachment belongs first of all to the workload it was made for. */
  creatorsFirst(workloads: readonly Workload[]): readonly Workload[] {
    const creators = new Set(this.#unlisted().map(({ createdFor }) => createdFor));
    return workloads.toSorted((a, b) => Number(creators.has(b.uid)) - Number(creators.has(a.uid)));
  }

  place(workload: Workload): void {
    const { volume } = this.#observed;
    const entry = [...this.#entries.values()].find(({ spec }) => holderOf(spec, workload.uid) !== undefined);
    if (entry !== undefined && this.#isServed(entry, workload)) return;
    // Its volumes are mounted and we know nothing of it: it may be older than Mountpoint Pods, and no business of ours.
    const mounted = entry === undefined && workload.phase === "running";
    if (volume === undefined) return;
    if ("refused" in volume) {
      if (!mounted) this.#reports.push(refusal(workload, volume));
    } else if (mounted) {
      this.#restore(workload, volume);
    } else {
      this.#serve(workload, volume, entry);
    }
  }

  decision(): Decision {
    const entries = [...this.#entries.values()];
    const marks = entries.flatMap((entry) => this.#marks(entry));
    const writes = entries.flatMap(writesOf);
    const strays = this.#observed.mountpointPods.filter(({ name }) => !this.#isListed(name));
    // What may be refused for reasons beyond us, a quota for example, comes last: it must not hold up the rest.
    const [last, first] = [writes.filter(({ spawns }) => spawns), writes.filter(({ spawns }) => !spawns)];
    const steps = [
      ...this.#reports,
      ...marks,
      ...first.flatMap((write) => write.steps),
      ...strays.flatMap((pod) => this.#tidy(pod)),
      ...last.flatMap((write) => write.steps),
    ];
    return { steps, again: this.#again };
  }

  #isServed({ spec }: Entry, workload: Workload): boolean {
    const holder = holderOf(spec, workload.uid);
    const pod = holder && this.#pods.get(holder);
    if (pod === undefined || pod === "" || !isAlive(pod)) return false;
    // A running workload keeps what it has for as long as that serves; another one needs a mount that is yet to be made.
    return workload.phase === "running" || !(pod.terminating || pod.needsUnmount);
  }

  /** LC-9: its attachment was lost, and a Mountpoint Pod without one is there for it. */
  #restore(workload: Workload, volume: S3Volume): void {
    const key = sharingKey({ node: this.#observed.node, fsGroup: workload.fsGroup }, volume);
    const entry = this.#entryFor(key);
    const lost = this.#unlisted().filter((pod) => isAlive(pod) && !pod.needsUnmount);
    const own = lost.find(({ createdFor }) => createdFor === workload.uid)?.name;
    const shared = entry && listed(entry.spec).find((name) => this.#restored.has(name));
    const mountpointPod = own ?? shared ?? lost[0]?.name;
    if (mountpointPod === undefined) return;
    this.#restored.add(mountpointPod);
    this.#assign(workload, mountpointPod, { volume, key, entry }, "the attachment of a running workload was lost");
  }

  #serve(workload: Workload, volume: S3Volume, holding: Entry | undefined): void {
    const { driverVersion, node } = this.#observed;
    const key = sharingKey({ node, fsGroup: workload.fsGroup }, volume);
    const entry = holding ?? this.#entryFor(key);
    const open = (pod: MountpointPod | undefined) => pod !== undefined && isOpen(pod, volume, driverVersion);
    const shared = entry && listed(entry.spec).find((name) => entry.spawn !== undefined || open(this.#pods.get(name)));
    // Made for it already, by a reconciler that ended before it could write the attachment (LC-5).
    const own = this.#unlisted().find((pod) => pod.createdFor === workload.uid && open(pod))?.name;
    const place = { volume, key, entry };
    if (shared !== undefined) this.#assign(workload, shared, place, "a Mountpoint Pod is open to it");
    else if (own !== undefined) this.#assign(workload, own, place, "its Mountpoint Pod has no attachment yet");
    else this.#spawn(workload, place);
  }
}
