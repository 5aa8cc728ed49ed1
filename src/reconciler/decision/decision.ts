/** What the decision about one volume on one node may look at, and what it may ask for. */
import type { Attachment, AttachmentSpec, newAttachment } from "../../core/attachment.ts";
import type { AttachmentStatus, ReportedSource } from "../../core/attachment-status.ts";
import type { NodeName, PodName, PodUid, PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { MountpointPodPurpose } from "../domain/mountpoint-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Workload } from "../domain/workload.ts";

/** Everything the decision may look at. What is not in here cannot influence the outcome. */
export interface Observed {
  readonly now: Date;
  readonly node: NodeName;
  /** undefined: there is no such PersistentVolume now, or it belongs to another driver. */
  readonly volume: S3Volume | Refusal | undefined;
  /** Other PersistentVolumes of ours with the same handle. */
  readonly sameHandle: readonly PvName[];
  /** Those on this node with a claim bound to this volume, and those that the attachments list and that exist. */
  readonly workloads: readonly Workload[];
  readonly attachments: readonly ObservedAttachment[];
  readonly mountpointPods: readonly ReportedMountpointPod[];
  /**
   * SE-10. Workloads for whose Mountpoint Pod of this volume a headroom Pod exists. The label on the workload is no proof of that:
   * its owner can set it. A headroom Pod lives where only the reconciler may create Pods.
   */
  readonly reserved: ReadonlySet<PodUid>;
  /**
   * What the attachments name and nobody has told us of yet, workloads by UID and Mountpoint Pods by name; each with the
   * time from which on it is taken for gone.
   */
  readonly notYetObserved: ReadonlyMap<string, Date>;
  readonly driverVersion: string;
  /** From which age on a Mountpoint Pod that no attachment lists is a leftover. */
  readonly staleAfterMs: number;
}

/** Why a volume cannot be served, and what to do about it. */
export interface Refusal {
  readonly name: PvName;
  readonly refused: string;
}

export interface ObservedAttachment extends Attachment {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  /** The controller's part. */
  readonly status?: AttachmentStatus;
  /** What the node asks us to replace. */
  readonly stuck?: readonly PodName[];
  /** The sources that the node reports on, by Mountpoint Pod. */
  readonly sources?: Readonly<Record<string, ReportedSource>>;
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

/** A report on a volume is for its claim, too. */
export type Step = { readonly because: string } & (
  | { readonly do: "report"; readonly workload: Workload; readonly reason: string; readonly volume?: PvName }
  | { readonly do: "annotateForUnmount"; readonly mountpointPod: ReportedMountpointPod }
  | {
      readonly do: "deleteMountpointPod";
      readonly mountpointPod: ReportedMountpointPod;
      /** Not while the API server has an object of its node. */
      readonly ifNodeIsGone?: true;
    }
  | { readonly do: "createMountpointPod"; readonly workload: Workload; readonly purpose: MountpointPodPurpose }
  | { readonly do: "createAttachment"; readonly attachment: NewAttachment }
  | { readonly do: "rewriteAttachment"; readonly attachment: ObservedAttachment; readonly spec: AttachmentSpec }
  | { readonly do: "deleteAttachment"; readonly attachment: ObservedAttachment }
);

export type NewAttachment = ReturnType<typeof newAttachment>;
