/** The attachments of one volume on one node as they are becoming, change after change, each with its reason. */
import {
  type Assignment,
  type Attachment,
  type AttachmentSpec,
  absorb,
  assignWorkload,
  dropMountpointPod,
  duplicatesOf,
  findAttachments,
  holderOf,
  idleMountpointPods,
  releaseWorkload,
  type SharingKey,
} from "../../core/attachment.ts";
import type { PodName, PodUid } from "../../core/names.ts";

export interface RosterEntry<Existing extends Attachment, New extends Attachment> {
  /** What there is now; undefined for one that is to be created. */
  readonly before: Existing | undefined;
  readonly after: Existing | New;
  /** Why it changes; empty while it does not. */
  readonly reasons: readonly string[];
}

export class Roster<Existing extends Attachment, New extends Attachment> {
  /** By name; those that exist, then those to be created. */
  readonly #entries: Map<string, RosterEntry<Existing, New>>;

  constructor(attachments: readonly Existing[]) {
    this.#entries = new Map(
      attachments.map((attachment) => [
        attachment.metadata.name,
        { before: attachment, after: attachment, reasons: [] },
      ]),
    );
  }

  entries(): readonly RosterEntry<Existing, New>[] {
    return [...this.#entries.values()];
  }

  /** Where workloads with this key meet. */
  find(key: SharingKey): RosterEntry<Existing, New> | undefined {
    const all = this.entries().map(({ after }) => after);
    const [oldest] = findAttachments<Attachment>(all, key);
    return oldest && this.#entries.get(oldest.metadata.name);
  }

  /** Where this workload is listed, whatever its volume says now. */
  holding(workload: PodUid): RosterEntry<Existing, New> | undefined {
    return this.entries().find(({ after }) => holderOf(after.spec, workload) !== undefined);
  }

  /** Whether any attachment refers to the Mountpoint Pod, now or after the changes. */
  lists(mountpointPod: PodName): boolean {
    return this.entries().some(
      ({ before, after }) => hasList(after, mountpointPod) || (before !== undefined && hasList(before, mountpointPod)),
    );
  }

  /**
   * Of those with the same key, the oldest takes over what the others list (LC-7). They are left empty, which means that they
   * are to be deleted, and not before the oldest has been written.
   */
  mergeDuplicates(reason: string): void {
    for (const entry of this.entries()) {
      const duplicates = duplicatesOf<Attachment>(
        this.entries().map(({ after }) => after),
        entry.after,
      );
      const oldest = this.#entries.get(duplicates[0]?.metadata.name ?? "");
      if (oldest === undefined || oldest.after.metadata.name === entry.after.metadata.name) continue;
      this.#change(oldest, absorb(oldest.after.spec, entry.after.spec), reason);
      this.#change(entry, { ...entry.after.spec, mountpointS3PodAttachments: {} }, reason);
    }
  }

  releaseAllBut(needing: ReadonlySet<string>, reason: string): void {
    for (const entry of this.entries()) {
      const listed = Object.values(entry.after.spec.mountpointS3PodAttachments).flat();
      const ended = listed.map(({ workloadPodUID }) => workloadPodUID).filter((uid) => !needing.has(uid));
      this.#change(entry, ended.reduce(releaseWorkload, entry.after.spec), reason);
    }
  }

  assign(entry: RosterEntry<Existing, New>, assignment: Assignment, reason: string): void {
    this.#change(entry, assignWorkload(entry.after.spec, assignment), reason);
  }

  add(attachment: New, reason: string): void {
    this.#entries.set(attachment.metadata.name, { before: undefined, after: attachment, reasons: [reason] });
  }

  /** Mountpoint Pods that are listed, and nowhere for a workload. */
  idle(): readonly PodName[] {
    const specs = this.entries().map(({ after }) => after.spec);
    const names = new Set(specs.flatMap(idleMountpointPods));
    const serves = (name: PodName) => specs.some((spec) => (spec.mountpointS3PodAttachments[name] ?? []).length > 0);
    return [...names].filter((name) => !serves(name));
  }

  /**
   * Drops the lists without workloads, and names the Mountpoint Pods that no attachment lists any more: they are to be
   * marked before this is written (DS-7). Those that are spared stay, with an empty list.
   */
  dropIdle(reason: string, spared: ReadonlySet<PodName>): readonly PodName[] {
    const dropped = this.entries().flatMap((entry) => {
      const idle = idleMountpointPods(entry.after.spec).filter((name) => !spared.has(name));
      this.#change(entry, idle.reduce(dropMountpointPod, entry.after.spec), reason);
      return idle;
    });
    return [...new Set(dropped)].filter((name) => !this.entries().some(({ after }) => hasList(after, name)));
  }

  #change(entry: RosterEntry<Existing, New>, spec: AttachmentSpec, reason: string): void {
    const { after } = entry;
    if (spec === after.spec) return;
    const reasons = [...new Set([...entry.reasons, reason])];
    this.#entries.set(after.metadata.name, { ...entry, after: { ...after, spec }, reasons });
  }
}

function hasList({ spec }: Attachment, mountpointPod: PodName): boolean {
  return Object.hasOwn(spec.mountpointS3PodAttachments, mountpointPod);
}
