/**
 * Which Mountpoint Pods and attachments one volume on one node should have. All judgement of the reconciler is here:
 * it knows no clock, no cache and no server, so every situation is a row of a table in the test.
 */
import {
  type Attachment,
  type AttachmentSpec,
  hasSameLists,
  holderOf,
  newAttachment,
  type SharingKey,
  sharingKey,
} from "../core/attachment.ts";
import type { MountpointPodPurpose } from "../core/mountpoint-pod.ts";
import { isAlive, isOpen, type MountpointPod } from "../core/mountpoint-pod-state.ts";
import { mountpointPodName, type NodeName, type PodName, type PodUid } from "../core/names.ts";
import type { S3Volume } from "../core/persistent-volume.ts";
import { Roster, type RosterEntry } from "../core/roster.ts";
import { needsVolumes, type Workload } from "../core/workload.ts";

/** Everything the decision may look at. What is not in here cannot influence the outcome. */
export interface Observed {
  readonly now: Date;
  readonly node: NodeName;
  /** undefined: there is no such PersistentVolume now, or it belongs to another driver. */
  readonly volume: S3Volume | Refusal | undefined;
  /** Those on this node with a claim bound to this volume, and those that the attachments list and that exist. */
  readonly workloads: readonly Workload[];
  readonly attachments: readonly ObservedAttachment[];
  readonly mountpointPods: readonly MountpointPod[];
  readonly driverVersion: string;
  /** From which age on a Mountpoint Pod that no attachment lists is a leftover. */
  readonly staleAfterMs: number;
}

/** Why a volume cannot be served, and what to do about it. */
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
  /** In this order: a later one relies on the earlier ones having been accepted. */
  readonly steps: readonly Step[];
  /** Set when time alone will change the decision. */
  readonly again: Again | undefined;
}

export interface Again {
  readonly afterMs: number;
  readonly because: string;
}

export type Step = { readonly because: string } & (
  | { readonly do: "report"; readonly workload: Workload }
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
  draft.roster.mergeTwins("several attachments had the same key");
  draft.roster.releaseAllBut(new Set(needing.map(({ uid }) => uid)), "a workload ended");
  for (const workload of draft.creatorsFirst(needing)) draft.place(workload);
  return draft.decision();
}

type Entry = RosterEntry<ObservedAttachment, NewAttachment>;

/** A volume that can be served, and where workloads with the same key meet, if there is such a place yet. */
interface Meeting {
  readonly volume: S3Volume;
  readonly key: SharingKey;
  readonly entry: Entry | undefined;
}

/** Workload after workload, so that those that come together share, just as those that come one by one do. */
class Draft {
  readonly roster: Roster<ObservedAttachment, NewAttachment>;
  readonly #observed: Observed;
  readonly #pods: ReadonlyMap<PodName, MountpointPod>;
  readonly #spawns = new Map<PodName, Step & { do: "createMountpointPod" }>();
  /** Mountpoint Pods that had lost their attachment and get it back. */
  readonly #restored = new Set<PodName>();
  readonly #reports: Step[] = [];
  #again: Again | undefined;

  constructor(observed: Observed) {
    this.#observed = observed;
    this.roster = new Roster(observed.attachments);
    this.#pods = new Map(observed.mountpointPods.map((pod) => [pod.name, pod]));
  }

  /** A Mountpoint Pod without an attachment belongs first of all to the workload it was made for. */
  creatorsFirst(workloads: readonly Workload[]): readonly Workload[] {
    const creators = new Set(this.#strays().map(({ createdFor }) => createdFor));
    return workloads.toSorted((a, b) => Number(creators.has(b.uid)) - Number(creators.has(a.uid)));
  }

  place(workload: Workload): void {
    const { volume, node } = this.#observed;
    const holding = this.roster.holding(workload.uid);
    if (volume === undefined || (holding && this.#isServed(holding, workload))) return;
    // Mounted, and not by anyone we know: perhaps before there were Mountpoint Pods. Then it is no business of ours.
    const unknown = holding === undefined && workload.phase === "running";
    if ("refused" in volume) {
      if (!unknown) this.#reports.push({ do: "report", workload, because: volume.refused });
      return;
    }
    const key = sharingKey({ node, fsGroup: workload.fsGroup }, volume);
    const meeting = { volume, key, entry: holding ?? this.roster.find(key) };
    if (unknown) this.#restore(workload, meeting);
    else this.#serve(workload, meeting);
  }

  decision(): Decision {
    const strays = this.#strays();
    const idle = this.roster.dropIdle("a Mountpoint Pod serves nobody").flatMap((name) => this.#pods.get(name) ?? []);
    const emptiedLast = this.roster.entries().toSorted((a, b) => Number(isEmpty(a)) - Number(isEmpty(b)));
    const entries = Map.groupBy(emptiedLast, (entry) => this.#spawnsInto(entry).length > 0);
    const steps = [
      ...this.#reports,
      ...idle.flatMap((pod) => marking(pod, "it serves nobody")),
      ...(entries.get(false) ?? []).flatMap(writing),
      ...strays.flatMap((pod) => this.#tidying(pod)),
      // Last, because a quota or a policy may refuse it, and that must not hold up the rest.
      ...(entries.get(true) ?? []).flatMap((entry) => this.#spawnsInto(entry).concat(writing(entry))),
    ];
    return { steps, again: this.#again };
  }

  /** Mountpoint Pods that no attachment lists, neither now nor as decided so far. */
  #strays(): readonly MountpointPod[] {
    return this.#observed.mountpointPods.filter(({ name }) => !this.roster.lists(name));
  }

  #isServed({ after }: Entry, workload: Workload): boolean {
    const holder = holderOf(after.spec, workload.uid);
    const pod = holder === undefined ? undefined : this.#pods.get(holder);
    if (pod === undefined || !isAlive(pod)) return false;
    // A running workload keeps what serves it, even on its way out; one that is yet to be mounted needs one that stays.
    return workload.phase === "running" || !(pod.terminating || pod.needsUnmount);
  }

  /**
   * LC-9. Its own comes back even where others are listed on it. Another's is given only when nobody is: a workload of
   * v1 may run beside those that use it.
   */
  #restore(workload: Workload, meeting: Meeting): void {
    const because = "the attachment of a running workload was lost";
    const usable = this.#observed.mountpointPods.filter((pod) => isAlive(pod) && !pod.needsUnmount);
    const own = usable.find(({ createdFor }) => createdFor === workload.uid)?.name;
    const listing = own && this.roster.entries().find((entry) => listedIn(entry).includes(own));
    if (listing) return this.#assign(workload, own, { ...meeting, entry: listing }, because);
    const lost = usable.filter(({ name }) => !this.roster.lists(name));
    const shared = meeting.entry && listedIn(meeting.entry).find((name) => this.#restored.has(name));
    const mountpointPod = own ?? shared ?? lost.find(({ phase }) => phase === "running")?.name;
    if (mountpointPod === undefined) return;
    this.#restored.add(mountpointPod);
    this.#assign(workload, mountpointPod, meeting, because);
  }

  #serve(workload: Workload, meeting: Meeting): void {
    const { volume, entry } = meeting;
    const open = (pod: MountpointPod) => isOpen(pod, volume, this.#observed.driverVersion);
    const shared = (entry ? listedIn(entry) : []).find((name) => {
      const pod = this.#pods.get(name);
      return this.#spawns.has(name) || (pod !== undefined && open(pod));
    });
    if (shared !== undefined) return this.#assign(workload, shared, meeting, "a Mountpoint Pod is open to a workload");
    // Made by a reconciler that ended before it could write the attachment (LC-5).
    const own = this.#strays().find((pod) => pod.createdFor === workload.uid && open(pod));
    if (own) return this.#assign(workload, own.name, meeting, "a Mountpoint Pod was made for a workload");
    this.#spawn(workload, meeting);
  }

  #spawn(workload: Workload, meeting: Meeting): void {
    const { volume, entry } = meeting;
    const { node, now } = this.#observed;
    // What was decided for this attachment is written first; that write brings us back.
    if (entry !== undefined && entry.reasons.length > 0) return;
    const generation = this.#nextGeneration(workload.uid, volume);
    const waitMs = (entry ? attachedAt(entry, workload.uid) : 0) + successorDelayMs(generation) - now.getTime();
    if (waitMs > 0) {
      this.#again = earlier(this.#again, { afterMs: waitMs, because: "Mountpoint Pods end soon after their start" });
      return;
    }
    const name = mountpointPodName(workload.uid, volume.name, generation);
    const because = generation === 0 ? "no Mountpoint Pod is open to a workload" : "the Mountpoint Pod ended";
    const purpose = { volume, node, generation, workload: workload.uid };
    this.#spawns.set(name, { do: "createMountpointPod", workload, purpose, because });
    this.#assign(workload, name, meeting, because);
  }

  #assign(workload: Workload, mountpointPod: PodName, { volume, key, entry }: Meeting, because: string): void {
    const { now, driverVersion } = this.#observed;
    const assignment = { mountpointPod, workload: workload.uid, at: now };
    if (entry) return this.roster.assign(entry, assignment, because);
    const authenticationSource = volume.identity === "driver" ? "driver" : "secret";
    this.roster.add(newAttachment(key, { driverVersion, authenticationSource }, assignment), because);
  }

  /** One more than the last that is known of: a name is not used again while anything remembers its former bearer. */
  #nextGeneration(workload: PodUid, { name: volume }: S3Volume): number {
    let next = 0;
    for (let generation = 0; generation < next + generationsToLookAhead; generation++) {
      const name = mountpointPodName(workload, volume, generation);
      if (this.#pods.has(name) || this.roster.lists(name)) next = generation + 1;
    }
    return next;
  }

  #spawnsInto(entry: Entry): readonly Step[] {
    return listedIn(entry).flatMap((name) => this.#spawns.get(name) ?? []);
  }

  #tidying(pod: MountpointPod): readonly Step[] {
    if (!pod.needsUnmount) {
      const stale = this.#observed.now.getTime() - pod.createdAt.getTime() >= this.#observed.staleAfterMs;
      return stale ? marking(pod, "cleanup: no attachment lists it") : [];
    }
    // Running, it is the node's turn: it unmounts, and the Pod then ends by itself.
    if (pod.terminating || pod.phase === "running") return [];
    const because = pod.phase === "pending" ? "it never started and is not needed" : "it has ended and is not needed";
    return [{ do: "deleteMountpointPod", mountpointPod: pod, because }];
  }
}

/** Predecessors are deleted in the meantime, so their numbers have gaps. */
const generationsToLookAhead = 16;

/** On a node that refuses every Pod, successors would otherwise follow each other without a pause. */
function successorDelayMs(generation: number): number {
  return generation === 0 ? 0 : Math.min(500 * 2 ** generation, 300_000);
}

function attachedAt({ after }: Entry, workload: PodUid): number {
  const all = Object.values(after.spec.mountpointS3PodAttachments).flat();
  const found = all.find(({ workloadPodUID }) => workloadPodUID === workload);
  return found === undefined ? 0 : Date.parse(found.attachmentTime);
}

function earlier(a: Again | undefined, b: Again): Again {
  return a !== undefined && a.afterMs <= b.afterMs ? a : b;
}

function listedIn({ after }: Entry): readonly PodName[] {
  return Object.keys(after.spec.mountpointS3PodAttachments) as PodName[];
}

/** Its workloads may have moved to a twin, which is then written first. */
function isEmpty(entry: Entry): boolean {
  return listedIn(entry).length === 0;
}

function marking(mountpointPod: MountpointPod, because: string): readonly Step[] {
  return mountpointPod.needsUnmount ? [] : [{ do: "markForUnmount", mountpointPod, because }];
}

function writing(entry: Entry): readonly Step[] {
  const { before, after } = entry;
  const because = entry.reasons.join("; ") || "it lists nothing";
  if (before === undefined) return [{ do: "createAttachment", attachment: after as NewAttachment, because }];
  if (isEmpty(entry)) return [{ do: "deleteAttachment", attachment: before, because }];
  // A patch that changes nothing makes no new version, and whoever wrote it would wait for one in vain.
  if (hasSameLists(after.spec, before.spec)) return [];
  return [{ do: "rewriteAttachment", attachment: before, spec: after.spec, because }];
}
