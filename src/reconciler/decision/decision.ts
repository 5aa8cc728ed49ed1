/** Input and output of the decision about one volume on one node. */
import type { Attachment, AttachmentSpec, newAttachment } from "../../core/attachment.ts";
import type { AttachmentStatus, ReportedSource } from "../../core/attachment-status.ts";
import type { ReasonOn } from "../../core/failures/event-catalogue.ts";
import type { NodeName, PodName, PodUid, PvName } from "../../core/names.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { MountpointPodPurpose } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { CurrentSettings } from "../domain/rollout.ts";
import type { Workload } from "../domain/workload.ts";

/** Everything the decision may look at. What is not in here cannot influence the outcome. */
export interface Observed {
  readonly now: Date;
  readonly node: NodeName;
  /** undefined: the PersistentVolume does not exist, or belongs to another driver. */
  readonly volume: S3Volume | Refusal | undefined;
  /** Other PersistentVolumes of this driver with the same handle. */
  readonly sameHandle: readonly PvName[];
  /** Workloads on this node with a claim bound to this volume, and workloads that the attachments list. */
  readonly workloads: readonly Workload[];
  readonly attachments: readonly ObservedAttachment[];
  readonly mountpointPods: readonly ReportedMountpointPod[];
  /**
   * SE-10. Workloads with a headroom Pod for their Mountpoint Pod of this volume. The label on the workload does not prove that, because
   * its owner can set it; headroom Pods are in a namespace where only the reconciler may create Pods.
   */
  readonly reserved: ReadonlySet<PodUid>;
  /**
   * SC-7. Pods that the attachments name, that the view lacks, and that it cannot prove to be gone, because the watch of Pods may be late:
   * workloads by UID and Mountpoint Pods by name.
   */
  readonly notYetObserved: ReadonlySet<string>;
  /** Mountpoint Pods on this node that wait for a volume and that this volume may take (WM-1). */
  readonly waiting: readonly Waiting[];
  /** Among the Mountpoint Pods: those that wait for a volume by their labels, although an attachment of this volume lists them. */
  readonly unlabelled: ReadonlySet<PodName>;
  readonly driverVersion: string;
  readonly current: CurrentSettings;
  /** The age from which a Mountpoint Pod that no attachment lists counts as orphaned. */
  readonly staleAfterMs: number;
}

export interface Waiting {
  readonly name: PodName;
  /** The attachment whose write may be on its way, although the view lacks it: no other may list the Pod. undefined: there is none. */
  readonly claimedFor: string | undefined;
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
  /** When this replica observed this version, a moment of `performance.now()`. */
  readonly observedAtMs: number;
  /** The part that the controller writes. */
  readonly status?: AttachmentStatus;
  /** Mountpoint Pods that the node plugin reports as stuck, to be replaced. */
  readonly stuck?: readonly PodName[];
  /** The sources that the node plugin reports on, by Mountpoint Pod. */
  readonly sources?: Readonly<Record<string, ReportedSource>>;
}

export interface Decision {
  /** To be performed in this order: a step relies on the API server having accepted the earlier ones. */
  readonly steps: readonly Step[];
  /** When to decide again although nothing else changes; undefined: never. */
  readonly again: Again | undefined;
}

export interface Again {
  readonly afterMs: number;
  readonly because: string;
}

export type Step = { readonly because: string } & (
  | { readonly do: "report"; readonly workload: Workload; readonly reason: ReasonOn<"Pod"> }
  /** An event on the claims of the volume, too. */
  | {
      readonly do: "reportVolume";
      readonly workload: Workload;
      readonly reason: ReasonOn<"PersistentVolumeClaim">;
      readonly volume: PvName;
    }
  | {
      readonly do: "annotateForUnmount";
      readonly mountpointPod: ReportedMountpointPod;
      /** SC-7. The attachments that list it: they must not have changed since they were observed. */
      readonly listedBy?: readonly ObservedAttachment[];
      /** LC-21. The Mountpoint Pod to which its workloads have moved. */
      readonly movedTo?: PodName | undefined;
    }
  /** WM-1. Writes on a Mountpoint Pod that was created without a volume whose it is. */
  | {
      readonly do: "labelMountpointPod";
      readonly mountpointPod: ReportedMountpointPod;
      readonly volume: S3Volume | undefined;
    }
  /** LC-24. The request is not tried again. */
  | {
      readonly do: "annotateFailedMove";
      readonly mountpointPod: ReportedMountpointPod;
      readonly requests: readonly string[];
    }
  | {
      readonly do: "deleteMountpointPod";
      readonly mountpointPod: ReportedMountpointPod;
      /** Delete only if the API server has no Node object of its node. */
      readonly ifNodeIsGone?: true;
    }
  | {
      readonly do: "createMountpointPod";
      readonly workload: Workload;
      readonly purpose: MountpointPodPurpose;
      /** LC-24. Set for a successor: the move that fails if the API server refuses it. */
      readonly move?: PreparedMove;
    }
  /** SC-7. The later steps rely on its lists: it must not have changed since it was observed. */
  | { readonly do: "confirmAttachment"; readonly attachment: ObservedAttachment }
  | { readonly do: "createAttachment"; readonly attachment: NewAttachment }
  | { readonly do: "rewriteAttachment"; readonly attachment: ObservedAttachment; readonly spec: AttachmentSpec }
  | { readonly do: "deleteAttachment"; readonly attachment: ObservedAttachment }
);

/** The workloads of a Mountpoint Pod, and the requests to move them. */
export interface PreparedMove {
  readonly from: ReportedMountpointPod;
  readonly requests: readonly string[];
  readonly workloads: readonly Workload[];
}

export type NewAttachment = ReturnType<typeof newAttachment>;
