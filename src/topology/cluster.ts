/** What the plugin has read of a cluster, at one time. */
import type { AttachmentObject, Claim, EventObject, PersistentVolume, Pod } from "./objects.ts";

export interface Cluster {
  /** RFC 3339. */
  readonly readAt: string;
  readonly context: string;
  readonly namespaces: Namespaces;
  /** Those of this driver. */
  readonly volumes: readonly PersistentVolume[];
  readonly claims: readonly Claim[];
  readonly attachments: readonly AttachmentObject[];
  /** Everything in the namespace of Mountpoint Pods. */
  readonly mountpointPods: readonly Pod[];
  /** Pods with volumes that come from claims. */
  readonly workloads: readonly Pod[];
  /** Of the namespace. Read only where claims have to stand in for PersistentVolumes. */
  readonly events?: readonly EventObject[];
  /** The user may not read PersistentVolumes, but has named a namespace. */
  readonly claimsOnly?: boolean;
  /** What could not be read, and why. */
  readonly unreadable: readonly string[];
}

/** Where the parts of the driver are. */
export interface Namespaces {
  /** Of the Helm release: controller and node plugins. */
  readonly driver: string;
  readonly mountpointPods: string;
}
