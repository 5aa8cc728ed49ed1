/** A Mountpoint Pod that waits for a volume (WM-1), and which volumes may take it (WM-2). */
import { createHash } from "node:crypto";
import type { AttachmentSpec } from "../../../core/attachment.ts";
import { driverIdentity, type Identity } from "../../../core/identity.ts";
import { noMove, type WaitingPod } from "../../../core/mountpoint-pod-state.ts";
import {
  annotations,
  labels,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
  waitArgument,
} from "../../../core/names.ts";
import { defaultStore } from "../../../core/stores/store.ts";
import { parseVolumeAttributes } from "../../../core/volume/volume-attributes.ts";
import type { ReportedMountpointPod } from "../controller-status.ts";
import { noLiveOptions, type S3Volume } from "../persistent-volume.ts";
import {
  installationAnnotations,
  installationLabels,
  type MountpointPodConfig,
  podSpec,
  volumeAnnotations,
} from "./mountpoint-pod.ts";
import type { MountpointPodReport } from "./mountpoint-pod-report.ts";
import { validLabels } from "./pod-metadata.ts";

export type ReportedWaitingPod = WaitingPod & MountpointPodReport;

/** The object whose deletion makes the garbage collector delete every Mountpoint Pod that still waits. */
export interface WarmOwner {
  readonly name: string;
  readonly uid: string;
}

export interface WarmPodPurpose {
  readonly name: PodName;
  readonly node: NodeName;
  readonly owner: WarmOwner;
  /** What a volume's Mountpoint Pod must have in common with it. */
  readonly settings: string;
}

/** A volume without a single setting of its own. */
const plainVolume: S3Volume = {
  name: "" as PvName,
  volumeId: "" as VolumeId,
  mountOptions: [],
  attributes: parseVolumeAttributes({ bucketName: "none" }),
  credentials: { source: "driver", identity: driverIdentity(defaultStore) },
  fallback: undefined,
  readOnly: false,
  cache: undefined,
  live: noLiveOptions,
  claim: undefined,
  moveRequest: undefined,
};

export function warmPod(config: MountpointPodConfig, { name, node, owner, settings }: WarmPodPurpose) {
  const spec = podSpec(config, { volume: plainVolume, node });
  const containers = spec.containers.map((container) => ({
    ...container,
    args: [waitArgument, ...(container.args ?? [])],
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: config.namespace,
      labels: validLabels({ ...installationLabels(config), [labels.warm]: "waiting" }),
      annotations: { ...installationAnnotations(config), [annotations.warmSettings]: settings },
      // `kubectl drain` refuses to delete Pods that no controller replaces.
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", ...owner, controller: true }],
    },
    spec: { ...spec, containers },
  } as const;
}

/** Equal for two volumes exactly if their Mountpoint Pods on one node would differ in nothing but the volume. */
export function warmSettings(config: MountpointPodConfig, volume: S3Volume = plainVolume): string {
  const settings = {
    labels: installationLabels(config),
    annotations: installationAnnotations(config),
    spec: podSpec(config, { volume, node: "" as NodeName }),
  };
  return createHash("sha256").update(JSON.stringify(settings)).digest("hex").slice(0, 32);
}

/**
 * WM-2. Whether the volume may have a Mountpoint Pod that was created without it. The node plugin learns from annotations that a volume is
 * read-only, and its live options, and they may be written after the mount.
 */
export function takesWarmPod(config: MountpointPodConfig, volume: S3Volume): boolean {
  const { proxy, pidNamespace } = volume.attributes;
  // ID-1: the account of the workload belongs to the identity, which the Pod names before its mount.
  if (volume.credentials.source === "pod") return false;
  if (volume.readOnly || pidNamespace !== undefined || Object.keys(proxy).length > 0) return false;
  if (Object.keys(volume.live.annotations).length > 0) return false;
  return warmSettings(config, volume) === warmSettings(config);
}

/** A waiting Mountpoint Pod as the one of the volume of an attachment, which lists it or is about to. */
export function assignedPod(
  { warmSettings: _settings, ...pod }: ReportedWaitingPod,
  { persistentVolumeName, volumeID, mountpointS3PodAttachments }: AttachmentSpec,
  volume: S3Volume | undefined,
): ReportedMountpointPod {
  const [first] = mountpointS3PodAttachments[pod.name] ?? [];
  return {
    ...pod,
    persistentVolume: persistentVolumeName,
    volumeId: volumeID,
    identity: volume && identityOf(volume),
    createdFor: first?.workloadPodUID ?? unknownWorkload,
    move: { ...noMove, fulfils: volume?.moveRequest },
  };
}

/** Volumes whose identity depends on the workload take no Pod that waits. */
function identityOf({ credentials }: S3Volume): Identity | undefined {
  return credentials.source === "pod" ? undefined : credentials.identity;
}

/** The workload has left before the Pod got its labels. */
const unknownWorkload = "unknown" as PodUid;

/** The patch with which a waiting Mountpoint Pod becomes that of a volume. From then on nothing but its name differs from any other. */
export function assignmentPatch(pod: ReportedMountpointPod, volume: S3Volume | undefined): object {
  const { uid, resourceVersion, persistentVolume, volumeId = "", createdFor } = pod;
  const identity = volume && identityOf(volume);
  const named = { [annotations.volumeName]: persistentVolume, [annotations.volumeId]: volumeId };
  return {
    metadata: {
      uid,
      resourceVersion,
      ownerReferences: null,
      labels: validLabels({
        [labels.podUid]: createdFor,
        [labels.volumeName]: persistentVolume,
        [labels.warm]: "assigned",
      }),
      annotations: identity === undefined || volume === undefined ? named : volumeAnnotations(volume, identity),
    },
  };
}
