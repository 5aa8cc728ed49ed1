/**
 * What hangs together: PersistentVolume → node → Mountpoint Pod → workloads, with the health of each. The commands, the page and
 * `-o json` all show this.
 */
import type { StatusCondition } from "../core/attachment-status.ts";

export interface Topology {
  /** RFC 3339. */
  readonly readAt: string;
  readonly context: string;
  readonly volumes: readonly VolumeView[];
  /** Mountpoint Pods that no attachment lists. */
  readonly orphanedPods: readonly MountpointPodView[];
  /** Mountpoint Pods that wait for a volume (chart value mountpointPod.warm.perNode). */
  readonly waitingPods: readonly MountpointPodView[];
  /** What could not be read, and why: the rest is shown without it. */
  readonly unreadable: readonly string[];
}

/**
 * ok: everything that should serve does. waiting: something is being started. problem: a workload is not served, or soon will not be.
 * idle: no workload uses the volume.
 */
export type Health = "ok" | "waiting" | "problem" | "idle";

export interface VolumeView {
  readonly name: string;
  readonly claim: { readonly namespace: string; readonly name: string } | undefined;
  readonly bucket: string;
  /** With a slash at its end; empty: the whole bucket. */
  readonly prefix: string;
  readonly handle: string;
  /** Of the PersistentVolume: Available, Bound, Released, Failed. */
  readonly phase: string;
  readonly storageClass: string;
  readonly provisioning: "dynamic" | "static";
  readonly accessModes: readonly string[];
  readonly mountOptions: readonly string[];
  /** Absent: no annotation asks for live options. */
  readonly live?: LiveView;
  /** `driver`, or `secret:NAMESPACE/NAME`. */
  readonly identity: string;
  readonly createdAt: string;
  readonly health: Health;
  /** Cause and fix, the gravest first. */
  readonly problems: readonly string[];
  readonly attachments: readonly AttachmentView[];
}

export interface LiveView {
  /** Options and attributes of Mountpoint Pods that are created from now on, `name=value`. */
  readonly wanted: readonly string[];
  /** Which annotations are ignored, and what to do about it. */
  readonly refused: readonly string[];
}

export interface AttachmentView {
  readonly name: string;
  readonly node: string;
  readonly fsGroup: string;
  readonly mountOptions: string;
  readonly conditions: readonly StatusCondition[];
  readonly health: Health;
  readonly mountpointPods: readonly MountpointPodView[];
}

export interface MountpointPodView {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  /** `Missing`: an attachment lists the Pod, and there is none. */
  readonly phase: string;
  /** Of the mount, as the node plugin reports: absent, starting, serving, dead, hung, stuck; empty: no report. */
  readonly mount: string;
  readonly version: string;
  /** The live options with which the Mountpoint Pod was created; absent: none. */
  readonly live?: readonly string[];
  readonly restarts: number;
  readonly heals: number;
  readonly lastDeath: string | undefined;
  /** The reconciler has asked the node plugin to unmount it. */
  readonly ending: boolean;
  readonly createdAt: string | undefined;
  readonly health: Health;
  /** Why it does not serve; empty: no problem. */
  readonly problem: string;
  readonly workloads: readonly WorkloadView[];
}

export interface WorkloadView {
  readonly uid: string;
  /** Undefined: there is no such Pod any more, or the user may not read it. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly phase: string;
  readonly attachedAt: string;
}
