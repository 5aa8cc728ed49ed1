/**
 * Which Mountpoint Pods and attachments one volume on one node should have. All judgement of the reconciler is here:
 * it knows no clock, no cache and no server, so every situation is a row of a table in the test.
 */
import { holderOf, newAttachment, type SharingKey, sharingKey } from "../../core/attachment.ts";
import type { ReportedSource } from "../../core/attachment-status.ts";
import { isAlive, isOpen, type MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { mountpointPodName, type PodName, type PvName } from "../../core/names.ts";
import { Roster } from "../domain/attachment-changes.ts";
import { isBeyondRepair } from "../domain/beyond-repair.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { stuckProblem } from "../domain/mountpoint-pod-report.ts";
import { endsByUnmount, orphanedPodStep } from "../domain/orphaned-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import { nextGeneration, successorDelayMs } from "../domain/succession.ts";
import { isUnreported, mayHaveStarted, needsVolumes, type Workload } from "../domain/workload.ts";
import { handleWarning, holderWarning, type WorkloadWarning } from "../domain/workload-warnings.ts";
import type { Again, Decision, NewAttachment, Observed, ObservedAttachment, Step } from "./decision.ts";
import { type Entry, isEmpty, listedIn, marking, writing } from "./entry-steps.ts";
import { newStatuses } from "./new-statuses.ts";
import { attachedAt, drainLeftMs, isYounger } from "./times.ts";

export function decide(observed: Observed): Decision {
  const draft = new Draft(observed);
  const needing = observed.workloads.filter(needsVolumes);
  draft.roster.mergeDuplicates("several attachments had the same key");
  draft.releaseAllBut(needing);
  for (const workload of draft.creatorsFirst(needing)) {
    draft.place(workload);
    draft.warn(workload);
  }
  return draft.decision();
}

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
  readonly #pods: ReadonlyMap<PodName, ReportedMountpointPod>;
  readonly #spawns = new Map<PodName, Step & { do: "createMountpointPod" }>();
  /** Mountpoint Pods that had lost their attachment and get it back. */
  readonly #restored = new Set<PodName>();
  /** Mountpoint Pods that a workload leaves although they may serve it: marked only when that has been written. */
  readonly #left = new Set<PodName>();
  readonly #reports: Step[] = [];
  #again: Again | undefined;

  constructor(observed: Observed) {
    this.#observed = observed;
    this.roster = new Roster(observed.attachments);
    const stuck = new Set(observed.attachments.flatMap((attachment) => attachment.stuck ?? []));
    const pods = observed.mountpointPods.map((pod) => (stuck.has(pod.name) ? { ...pod, problem: stuckProblem } : pod));
    this.#pods = new Map(pods.map((pod) => [pod.name, pod]));
  }

  /**
   * DS-7. A workload that we have not heard of has not ended. A Mountpoint Pod that we have not heard of cannot be marked, so
   * its list stays as it is.
   */
  releaseAllBut(needing: readonly Workload[]): void {
    const { notYetObserved, now } = this.#observed;
    for (const until of notYetObserved.values())
      this.#comeBack(until.getTime() - now.getTime(), "a Pod is not known yet");
    const lists = this.roster.entries().flatMap(({ after }) => Object.entries(after.spec.mountpointS3PodAttachments));
    const untouchable = lists.flatMap(([name, served]) => (notYetObserved.has(name) ? served : []));
    const listed = untouchable.map(({ workloadPodUID }) => workloadPodUID);
    const staying = new Set<string>([...needing.map(({ uid }) => uid), ...notYetObserved.keys(), ...listed]);
    this.roster.releaseAllBut(staying, "a workload ended");
  }

  /** A Mountpoint Pod without an attachment belongs first of all to the workload it was made for. */
  creatorsFirst(workloads: readonly Workload[]): readonly Workload[] {
    const creators = new Set(this.#orphaned().map(({ createdFor }) => createdFor));
    return workloads.toSorted((a, b) => Number(creators.has(b.uid)) - Number(creators.has(a.uid)));
  }

  place(workload: Workload): void {
    const { volume, node } = this.#observed;
    const holding = this.roster.holding(workload.uid);
    if (volume === undefined || this.#keeps(holding, workload)) return;
    // Mounted, and not by anyone we know: perhaps before there were Mountpoint Pods. Then it is no business of ours.
    const unknown = holding === undefined && mayHaveStarted(workload);
    if ("refused" in volume) {
      if (!unknown) this.#report(workload, { reason: "VolumeRefused", message: volume.refused }, volume.name);
      return;
    }
    const key = sharingKey({ node, fsGroup: workload.fsGroup }, volume);
    const meeting = { volume, key, entry: holding ?? this.roster.find(key) };
    if (unknown) this.#restore(workload, meeting);
    else this.#serve(workload, meeting);
  }

  /** What it should know of the Mountpoint Pod that it has been given. */
  warn(workload: Workload): void {
    const { volume, sameHandle } = this.#observed;
    if (volume === undefined || "refused" in volume) return;
    if (!mayHaveStarted(workload)) this.#report(workload, handleWarning(volume.name, sameHandle), volume.name);
    const holder = this.#holderOf(workload);
    if (holder !== undefined) this.#report(workload, holderWarning(volume.name, holder));
  }

  decision(): Decision {
    const orphaned = this.#orphaned();
    const unmounting = this.#unmounting();
    const spared = new Set([...this.#left, ...unmounting.map(({ name }) => name)]);
    const dropped = this.roster.dropIdle("a Mountpoint Pod serves nobody", spared);
    const idle = [...dropped.flatMap((name) => this.#pods.get(name) ?? []), ...unmounting];
    const emptiedLast = this.roster.entries().toSorted((a, b) => Number(isEmpty(a)) - Number(isEmpty(b)));
    const entries = Map.groupBy(emptiedLast, (entry) => this.#spawnsInto(entry).length > 0);
    const steps = [
      ...this.#reports,
      ...idle.flatMap((pod) => marking(pod, "it serves nobody")),
      ...(entries.get(false) ?? []).flatMap(writing),
      ...orphaned.flatMap((pod) => this.#tidying(pod)),
      ...unmounting.filter(({ needsUnmount }) => needsUnmount).flatMap((pod) => this.#tidying(pod)),
      // Last, because a quota or a policy may refuse it, and that must not hold up the rest.
      ...(entries.get(true) ?? []).flatMap((entry) => this.#spawnsInto(entry).concat(writing(entry))),
    ];
    return { steps, statuses: newStatuses(this.#observed, this.#pods), again: this.#again };
  }

  #report(workload: Workload, warning: WorkloadWarning | undefined, volume?: PvName): void {
    if (warning === undefined) return;
    const about = volume === undefined ? {} : { volume };
    this.#reports.push({ do: "report", workload, reason: warning.reason, because: warning.message, ...about });
  }

  /** Mountpoint Pods that no attachment lists, neither now nor as decided so far. */
  #orphaned(): readonly ReportedMountpointPod[] {
    return this.#observed.mountpointPods.filter(({ name }) => !this.roster.lists(name));
  }

  /**
   * DS-14. Mountpoint Pods that serve nobody stay listed until they have ended, where the node reports on them: the attachment
   * is where it says whether their sources are still in use.
   */
  #unmounting(): readonly ReportedMountpointPod[] {
    const pods = this.roster.idle().flatMap((name) => this.#pods.get(name) ?? []);
    return pods.filter((pod) => !this.#left.has(pod.name) && endsByUnmount(pod) && this.#sourceOf(pod) !== undefined);
  }

  #sourceOf({ name }: ReportedMountpointPod): ReportedSource | undefined {
    return this.#observed.attachments.map(({ sources }) => sources?.[name]).find((source) => source !== undefined);
  }

  #holderOf({ uid }: Workload): ReportedMountpointPod | undefined {
    const entry = this.roster.holding(uid);
    const holder = entry && holderOf(entry.after.spec, uid);
    return holder && this.#pods.get(holder);
  }

  /** kubelet mounts nothing more for an unreported one. If one of its containers runs, kubelet is about to report that. */
  #keeps(holding: Entry | undefined, workload: Workload): boolean {
    return holding !== undefined && (isUnreported(workload) || this.#isServed(holding, workload));
  }

  #isServed(entry: Entry, workload: Workload): boolean {
    const pod = this.#holderOf(workload);
    if (pod === undefined) return this.#isAwaited(holderOf(entry.after.spec, workload.uid));
    if (!isAlive(pod) || isBeyondRepair(pod, workload, this.#observed.driverVersion)) return false;
    if (mayHaveStarted(workload)) return workload.terminating || !this.#isLeaving(pod);
    // One that is yet to be mounted needs one that stays; and does not wait where another one is ready.
    const open = this.#openIn(entry);
    const hasBetter = isHeldUp(pod) && open !== undefined && this.#hasPlace(open);
    return !pod.terminating && !pod.needsUnmount && !hasBetter;
  }

  #isAwaited(mountpointPod: PodName | undefined): boolean {
    return mountpointPod !== undefined && this.#observed.notYetObserved.has(mountpointPod);
  }

  /**
   * LC-2. It serves until its grace period is over. A drain deletes workloads within moments of their Mountpoint Pod:
   * those need no other one, on a node that is to be empty.
   */
  #isLeaving({ deletionAskedAt }: ReportedMountpointPod): boolean {
    if (deletionAskedAt === undefined) return false;
    const waitMs = drainLeftMs(deletionAskedAt, this.#observed.now);
    if (waitMs > 0) this.#comeBack(waitMs, "workloads may be deleted, too");
    return waitMs <= 0;
  }

  /**
   * LC-9. Its own comes back even where others are listed on it. Another's is given only when nobody is, or when the workload
   * must have been listed with them: a workload of v1 may run beside those that use it.
   */
  #restore(workload: Workload, meeting: Meeting): void {
    const because = "the attachment of a running workload was lost";
    const alive = this.#observed.mountpointPods.filter(isAlive);
    const usable = alive.filter(({ needsUnmount }) => !needsUnmount);
    const own = usable.find(({ createdFor }) => createdFor === workload.uid)?.name;
    const isLost = ({ name, phase }: MountpointPod) => phase === "running" && !this.roster.lists(name);
    const shared = this.#sharedBefore(workload, meeting.entry, usable);
    const mountpointPod = own ?? shared ?? this.#boundTo(workload, alive) ?? usable.find(isLost)?.name;
    if (mountpointPod === undefined) return;
    const listing = this.roster.entries().find((entry) => listedIn(entry).includes(mountpointPod));
    if (listing === undefined || mountpointPod === shared) this.#restored.add(mountpointPod);
    this.#assign(workload, mountpointPod, { ...meeting, entry: listing ?? meeting.entry }, because);
  }

  /**
   * One with the needs-unmount annotation that was made for the workload: its bind mount keeps the source mounted (DS-14), and
   * listed again it gets a successor when it dies.
   */
  #boundTo({ uid }: Workload, alive: readonly ReportedMountpointPod[]): PodName | undefined {
    return alive.find((pod) => pod.needsUnmount && pod.phase === "running" && pod.createdFor === uid)?.name;
  }

  #sharedBefore(
    workload: Workload,
    entry: Entry | undefined,
    usable: readonly ReportedMountpointPod[],
  ): PodName | undefined {
    const listed = entry ? listedIn(entry) : [];
    return isYounger(workload, entry?.before)
      ? listed.find((name) => usable.some((pod) => pod.name === name))
      : listed.find((name) => this.#restored.has(name));
  }

  #serve(workload: Workload, meeting: Meeting): void {
    const { volume, entry } = meeting;
    const shared = entry && this.#openIn(entry);
    if (shared !== undefined) return this.#assign(workload, shared, meeting, "a Mountpoint Pod is open to a workload");
    // Made by a reconciler that ended before it could write the attachment (LC-5).
    const { driverVersion } = this.#observed;
    const own = this.#orphaned().find((pod) => pod.createdFor === workload.uid && isOpen(pod, volume, driverVersion));
    if (own) return this.#assign(workload, own.name, meeting, "a Mountpoint Pod was made for a workload");
    this.#spawn(workload, meeting);
  }

  #hasPlace(mountpointPod: PodName): boolean {
    return this.#pods.get(mountpointPod)?.scheduled ?? false;
  }

  /** LC-2: one that has no place, does not start or is down gets nobody. One that has found its place comes first. */
  #openIn(entry: Entry): PodName | undefined {
    const { volume, driverVersion } = this.#observed;
    if (volume === undefined || "refused" in volume) return undefined;
    const open = listedIn(entry).filter((name) => {
      const pod = this.#pods.get(name);
      const isFine = pod?.problem === undefined;
      return this.#spawns.has(name) || (pod !== undefined && isFine && isOpen(pod, volume, driverVersion));
    });
    return open.find((name) => this.#hasPlace(name)) ?? open[0];
  }

  #spawn(workload: Workload, meeting: Meeting): void {
    const { volume, entry } = meeting;
    const { node, now, reserved } = this.#observed;
    // What was decided for this attachment is written first; that write brings us back.
    if (entry !== undefined && entry.reasons.length > 0) return;
    const isKnown = (name: PodName) => this.#pods.has(name) || this.roster.lists(name);
    const generation = nextGeneration(workload.uid, volume.name, isKnown);
    const attachedMs = entry ? attachedAt(entry, workload.uid) : 0;
    // One in the future is somebody's mistake, and would keep the workload waiting until then.
    const sinceMs = attachedMs > now.getTime() ? 0 : attachedMs;
    const waitMs = sinceMs + successorDelayMs(generation) - now.getTime();
    if (waitMs > 0) return this.#comeBack(waitMs, "Mountpoint Pods end soon after their start");
    const name = mountpointPodName(workload.uid, volume.name, generation);
    const because = generation === 0 ? "no Mountpoint Pod is open to a workload" : "the Mountpoint Pod ended";
    const purpose = { volume, node, generation, workload: workload.uid, preempts: reserved.has(workload.uid) };
    this.#spawns.set(name, { do: "createMountpointPod", workload, purpose, because });
    this.#assign(workload, name, meeting, because);
  }

  #assign(workload: Workload, mountpointPod: PodName, { volume, key, entry }: Meeting, because: string): void {
    const { now, driverVersion } = this.#observed;
    const former = this.#holderOf(workload);
    if (former !== undefined && isAlive(former) && !former.terminating) this.#left.add(former.name);
    const assignment = { mountpointPod, workload: workload.uid, at: now };
    if (entry) return this.roster.assign(entry, assignment, because);
    const authenticationSource = volume.identity === "driver" ? "driver" : "secret";
    this.roster.add(newAttachment(key, { driverVersion, authenticationSource }, assignment), because);
  }

  #spawnsInto(entry: Entry): readonly Step[] {
    return listedIn(entry).flatMap((name) => this.#spawns.get(name) ?? []);
  }

  #comeBack(afterMs: number, because: string): void {
    if (this.#again === undefined || afterMs < this.#again.afterMs) this.#again = { afterMs, because };
  }

  #tidying(mountpointPod: ReportedMountpointPod): readonly Step[] {
    const { now, staleAfterMs } = this.#observed;
    const task = orphanedPodStep(mountpointPod, { now, staleAfterMs, source: this.#sourceOf(mountpointPod) });
    return task === undefined ? [] : [{ ...task, mountpointPod }];
  }
}

function isHeldUp({ problem }: ReportedMountpointPod): boolean {
  return problem?.kind === "unschedulable" || problem?.kind === "backingOff";
}
