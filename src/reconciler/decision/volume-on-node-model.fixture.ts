/**
 * A small model of one volume on one node: an API server, and two replicas of the reconciler whose views lag. It tests the decision, not the
 * adapters. The rules that must hold at every write are in model-rules.fixture.ts.
 */
import { type AttachmentSpec, holderOf, specPatch } from "../../core/attachment.ts";
import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { mountpointPodName, type PodName, type PodUid } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { MountpointPodPurpose } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { needsVolumes, type Workload } from "../domain/workload.ts";
import { patched, withoutAccount } from "./attachment-lists.fixture.ts";
import { decide } from "./decide.ts";
import type { Observed, ObservedAttachment, Step } from "./decision.ts";
import {
  checkAssignments,
  checkAttachments,
  checkAttachmentUnused,
  checkPodUnused,
  checkUnneeded,
} from "./model-rules.fixture.ts";
import { type NewStatus, newStatuses } from "./new-statuses.ts";
import { type Kind, type Objects, Replica, type ValueOf } from "./replica.fixture.ts";
import { attachment, pod, volume, workload } from "./situation.fixture.ts";

export const claim = { namespace: "shop", name: "data", uid: "uid-of-claim", volume: volume.name };

export class VolumeOnNodeModel {
  /** What the API server has. */
  readonly truth: Objects = {
    ...{ workloads: new Map(), attachments: new Map(), mountpointPods: new Map() },
    claims: new Map([["shop/data", claim]]),
    volumes: new Map([[volume.name, volume]]),
  };
  #duplicates = 0;
  #version = 0;
  #time = Date.parse("2026-01-15T10:00:00Z");
  /** Workload → the Mountpoint Pod of its bind mount. Only kubelet removes a bind mount, whatever the API server has. */
  readonly binds = new Map<PodUid, string>();
  /** Whether an operator has set the needs-unmount annotation on Mountpoint Pods in use: mounts may then be lost at any time. */
  hasForeignAnnotations = false;
  #leader = new Replica(this.truth);
  #standby = new Replica(this.truth);
  #seen = this.#leader.observed(this.now);

  put<Of extends Kind>(kind: Of, name: string, value: ValueOf<Of>): void {
    const objects = this.truth[kind] as Map<string, ValueOf<Of>>;
    objects.set(name, value);
    for (const replica of [this.#leader, this.#standby]) replica.put(kind, name, value);
  }

  remove(kind: Kind, name: string): void {
    this.truth[kind].delete(name);
    for (const replica of [this.#leader, this.#standby]) replica.remove(kind, name);
  }

  come(uid: PodUid, but: Pick<Workload, "fsGroup"> & Partial<Workload>): void {
    this.put("workloads", uid, workload(uid, but));
  }

  /** As 2.x leaves it behind when it updates the attachment. */
  loseAccount({ metadata: { name } }: ObservedAttachment): void {
    const now = this.truth.attachments.get(name);
    if (now === undefined) return;
    const metadata = { ...now.metadata, resourceVersion: this.#nextVersion() };
    this.put("attachments", name, { ...now, metadata, spec: withoutAccount(now.spec) });
  }

  /**
   * A duplicate as 2.x leaves it behind, in the caches from the start: a second attachment for one key, with some lists of the first, or
   * with all of them.
   */
  split(of: ObservedAttachment, keep: "both" | "either"): void {
    this.#duplicates += 1;
    const lists = Object.entries(of.spec.mountpointS3PodAttachments);
    const [first, second] = keep === "both" ? [lists, lists] : [lists.slice(1), lists.slice(0, 1)];
    const put = (name: string, some: typeof lists) => {
      const metadata = { ...of.metadata, name, uid: `uid of ${name}`, resourceVersion: this.#nextVersion() };
      const spec = { ...of.spec, mountpointS3PodAttachments: Object.fromEntries(some) };
      this.put("attachments", name, { metadata, spec, observedAtMs: 0 });
    };
    put(`s3pa-${this.#duplicates % 2 === 0 ? "0" : "z"}${this.#duplicates}`, second); // the older one, or the younger
    put(of.metadata.name, first);
    this.deliverAll();
    this.#standby.deliverAll();
  }

  change(name: PodName, but: Partial<ReportedMountpointPod>): void {
    const now = this.truth.mountpointPods.get(name);
    if (now !== undefined) this.put("mountpointPods", name, { ...now, ...but, resourceVersion: this.#nextVersion() });
  }

  deliver(kind: Kind, count = Infinity): void {
    this.#leader.deliver(kind, count);
  }

  deliverAll(): void {
    this.#leader.deliverAll();
  }

  deliverToStandby(kind: Kind, count: number): void {
    this.#standby.deliver(kind, count);
  }

  /** SC-7. The standby becomes leader and lists everything first; a new standby lists everything. */
  takeOver(): void {
    this.#leader = this.#standby;
    this.#leader.renew();
    this.#standby = new Replica(this.truth);
  }

  /** SC-7. The leader lists everything if it cannot tell whether a Pod is gone. */
  findMissing(): void {
    if (this.#leader.observed(this.now).notYetObserved.size > 0) this.#leader.renew();
  }

  /** What the leader had observed when it decided last. */
  get seen(): Observed {
    return this.#seen;
  }

  get now(): Date {
    return new Date(this.#time);
  }

  wait(ms: number): void {
    this.#time += ms;
  }

  /** One reconcile that stops before the step of this number. True: there was nothing to do. */
  reconcile(stopsBefore = Infinity): boolean {
    this.#seen = this.#leader.observed(this.now);
    const decision = decide(this.#seen);
    const statuses = newStatuses(this.#seen);
    for (const [number, step] of decision.steps.entries()) {
      if (number >= stopsBefore) return false;
      const accepted = this.#perform(step);
      if (this.#duplicates === 0) checkAttachments(this);
      // `act` waits until the view shows each step.
      this.deliver(step.do.endsWith("Attachment") ? "attachments" : "mountpointPods");
      if (!accepted) return false;
    }
    for (const each of statuses) this.#writeStatus(each);
    if (decision.again) this.wait(decision.again.afterMs);
    // The Node exists all the time, so `act` skips these.
    const changes = decision.steps.filter((step) => !step.do.startsWith("report") && !("ifNodeIsGone" in step));
    return changes.length + statuses.length === 0 && decision.again === undefined;
  }

  listedOn(name: string): readonly Workload[] {
    const listed = [...this.truth.workloads.values()].filter((each) =>
      [...this.truth.attachments.values()].some(({ spec }) => holderOf(spec, each.uid) === name),
    );
    return listed.filter(needsVolumes);
  }

  holdersOf(uid: PodUid): readonly PodName[] {
    return [...this.truth.attachments.values()].flatMap(({ spec }) => holderOf(spec, uid) ?? []);
  }

  isBound(name: string): boolean {
    return [...this.binds.values()].includes(name);
  }

  /** What the node plugin writes: of one with the needs-unmount annotation, whether it is in use. */
  reportSources(): void {
    for (const [name, now] of [...this.truth.attachments]) {
      const pods = Object.keys(now.spec.mountpointS3PodAttachments).flatMap(
        (each) => this.truth.mountpointPods.get(each) ?? [],
      );
      const sources = Object.fromEntries(
        pods.map((each) => [each.name, each.needsUnmount ? { inUse: this.isBound(each.name) } : {}]),
      );
      if (JSON.stringify(sources) === JSON.stringify(now.sources)) continue;
      const metadata = { ...now.metadata, resourceVersion: this.#nextVersion() };
      this.put("attachments", name, { ...now, metadata, sources });
    }
  }

  /** Like the API server; false for AlreadyExists and Conflict. */
  #perform(step: Step): boolean {
    if (isOfNoStory(step)) return true;
    switch (step.do) {
      case "createMountpointPod": {
        const name = mountpointPodName(step.purpose.workload, volume.name, step.purpose.generation);
        return this.#create("mountpointPods", name, this.#newPod(name, step.purpose));
      }
      case "annotateForUnmount":
        return this.#annotate(step.mountpointPod);
      case "confirmAttachment": {
        const { name, resourceVersion } = step.attachment.metadata;
        return this.truth.attachments.get(name)?.metadata.resourceVersion === resourceVersion;
      }
      case "deleteMountpointPod":
        return this.#deleteUnneeded(step);
      case "createAttachment":
        return this.#write(step.attachment.metadata.name, undefined, step.attachment.spec);
      case "rewriteAttachment":
        return this.#write(step.attachment.metadata.name, step.attachment, step.spec);
      case "deleteAttachment":
        return this.#deleteAttachment(step.attachment);
      default:
        return step satisfies never;
    }
  }

  #deleteUnneeded({ ifNodeIsGone, mountpointPod }: Step & { do: "deleteMountpointPod" }): boolean {
    return ifNodeIsGone === true || this.#deletePod(mountpointPod);
  }

  /** Only for the version that was observed. */
  #writeStatus({ attachment: { metadata }, status }: NewStatus): void {
    const now = this.truth.attachments.get(metadata.name);
    if (now?.metadata.resourceVersion !== metadata.resourceVersion) return;
    const written = { ...now.metadata, resourceVersion: this.#nextVersion() };
    this.put("attachments", metadata.name, { ...now, metadata: written, status });
    this.deliver("attachments");
  }

  #newPod(name: PodName, { workload: createdFor, identity }: MountpointPodPurpose): ReportedMountpointPod {
    const version = this.#nextVersion();
    const birth = { uid: `uid ${version}` as PodUid, resourceVersion: version, createdAt: new Date(this.#time) };
    return pod(name, { ...birth, createdFor, identity, phase: "pending", scheduled: false });
  }

  #annotate({ name, uid }: MountpointPod): boolean {
    const now = this.truth.mountpointPods.get(name);
    if (now?.uid !== uid) return false;
    if (!now.terminating && !this.hasForeignAnnotations) checkUnneeded(this, now);
    this.change(name, { needsUnmount: true, needsUnmountSince: this.now });
    return true;
  }

  #write(name: string, from: ObservedAttachment | undefined, spec: AttachmentSpec): boolean {
    const now = this.truth.attachments.get(name);
    if (now?.metadata.resourceVersion !== from?.metadata.resourceVersion) return false;
    checkAssignments(this, now, spec);
    const { metadata, observedAtMs } = now ?? attachment({}, { name });
    this.put("attachments", name, {
      ...now,
      metadata: { ...metadata, resourceVersion: this.#nextVersion() },
      spec: now === undefined ? spec : patched(now.spec, specPatch(now.spec, spec)),
      observedAtMs,
    });
    return true;
  }

  #create<Of extends Kind>(kind: Of, name: string, value: ValueOf<Of>): boolean {
    if (this.truth[kind].has(name)) return false;
    this.put(kind, name, value);
    return true;
  }

  #deletePod({ name, resourceVersion }: MountpointPod): boolean {
    const now = this.truth.mountpointPods.get(name);
    if (now === undefined) return true;
    if (now.resourceVersion !== resourceVersion) return false;
    checkPodUnused(this, now);
    this.remove("mountpointPods", name);
    return true;
  }

  #deleteAttachment({ metadata: { name, resourceVersion } }: ObservedAttachment): boolean {
    const now = this.truth.attachments.get(name);
    if (now === undefined) return true;
    if (now.metadata.resourceVersion !== resourceVersion) return false;
    checkAttachmentUnused(this, now);
    this.remove("attachments", name);
    return true;
  }

  #nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

type OfNoStory = Extract<Step, { do: "report" | "reportVolume" | "annotateFailedMove" | "labelMountpointPod" }>;

/** No story of this model requests a move, or has Mountpoint Pods that wait for a volume; reports change nothing. */
function isOfNoStory(step: Step): step is OfNoStory {
  return ["report", "reportVolume", "annotateFailedMove", "labelMountpointPod"].includes(step.do);
}
