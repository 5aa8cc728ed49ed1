/** What the plugin has read of a cluster, at one time. */
import type { AttachmentObject, Claim, PersistentVolume, Pod } from "./objects.ts";

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
  /** What could not be read, and why. */
  readonly unreadable: readonly string[];
}

/** Where the parts of the driver are. */
export interface Namespaces {
  /** Of the Helm release: controller and node plugins. */
  readonly driver: string;
  readonly mountpointPods: string;
}
