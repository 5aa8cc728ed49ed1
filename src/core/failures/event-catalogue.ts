/**
 * Every event that a program of the driver emits. A reason that is not listed here does not compile, and docs/reference/events.md is
 * generated from this list. Texts of the driver in events of kubelet and csi-provisioner are in call-failures.ts.
 */

type EventObject = "Pod" | "PersistentVolumeClaim" | "PersistentVolume" | "Pod of the controller";

interface CatalogueEntry {
  /** Normal: nothing has to be done. */
  readonly type: "Normal" | "Warning";
  readonly on: readonly EventObject[];
  readonly cause: string;
  /** Complete sentences. Plain text, as the cause: programs show both. */
  readonly fix: string;
  /** The page that explains more, relative to docs/reference. */
  readonly see?: string;
}

export const eventCatalogue = {
  VolumeRefused: {
    type: "Warning",
    on: ["Pod", "PersistentVolumeClaim"],
    cause: "the PersistentVolume cannot be served: an attribute or mount option is wrong, or its bucket is not named",
    fix: "Correct the field that the message names.",
  },
  VolumeQuestionable: {
    type: "Warning",
    on: ["Pod", "PersistentVolumeClaim"],
    cause:
      "the volume is served, but not as specified: mount options are left out, or the memory limit is below what mount-s3 needs",
    fix: "Remove the mount options that the message names, or raise the limit.",
  },
  LiveOptionsRefused: {
    type: "Warning",
    on: ["Pod", "PersistentVolumeClaim"],
    cause:
      "an annotation of the PersistentVolume asks for something that cannot change for running mounts, or has a wrong value: it is ignored, and the volume is served without it",
    fix: "Correct or remove the annotation that the message names, and request the move again.",
    see: "../guides/moving.md#live-options",
  },
  VolumeHandleShared: {
    type: "Warning",
    on: ["Pod", "PersistentVolumeClaim"],
    cause: "another PersistentVolume has the same volumeHandle: kubelet takes both for one volume",
    fix: "Give each PersistentVolume a volumeHandle of its own.",
  },
  DriverCredentialsUsed: {
    type: "Warning",
    on: ["Pod", "PersistentVolumeClaim"],
    cause:
      "the driver's credentials are used although the StorageClass names a Secret: it names only one of the provisioner Secret and the node-publish Secret",
    fix: "Name both Secrets in the StorageClass. Chart value s3CredentialSecret.fallback: false refuses such volumes.",
  },
  MountpointPodRefused: {
    type: "Warning",
    on: ["Pod"],
    cause:
      "the API server refuses the Mountpoint Pod, for example because of a quota or a policy; 429, 500, 503 and 504 are reported after a minute",
    fix: "Change the quota or policy that the message names; the driver repeats the creation.",
    see: "api-server-load.md",
  },
  AttachmentRefused: {
    type: "Warning",
    on: ["Pod"],
    cause: "an object that was created or edited by hand has the name of the attachment",
    fix: "Delete that object with the command in the message.",
  },
  MountpointPodUnschedulable: {
    type: "Warning",
    on: ["Pod"],
    cause: "the Mountpoint Pod cannot be scheduled to the node of the workload",
    fix: "Make room on the node, add the toleration, or move the workload. Headroom reserves room beforehand.",
    see: "headroom.md",
  },
  MountpointPodNotStarting: {
    type: "Warning",
    on: ["Pod"],
    cause: "kubelet cannot start the Mountpoint Pod, for example because its image cannot be pulled",
    fix: "Check the chart's image.repository, image.tag and imagePullSecrets, and the events of the Mountpoint Pod.",
  },
  HeadroomNotReserved: {
    type: "Warning",
    on: ["Pod"],
    cause:
      "no room was reserved for the Mountpoint Pod: the claim is not bound, the volume is refused, or a quota refuses the headroom Pod",
    fix: "Remove the cause that the message names, or the scheduling gate from the Pod's template.",
    see: "headroom.md",
  },
  HeadroomOff: {
    type: "Warning",
    on: ["Pod"],
    cause: "the Pod waits for a scheduling gate that nobody removes, because headroom is turned off",
    fix: "Set the chart value mountpointPod.headroom.enabled, or remove the scheduling gate.",
    see: "headroom.md",
  },
  VolumeHealed: {
    type: "Warning",
    on: ["Pod"],
    cause: "mount-s3 ended, for the reason in the message, and was replaced: files that were open give errors",
    fix: "Let the application open its files again. If it was OOMKilled, raise the memory limit of the Mountpoint Pod.",
    see: "../healing.md",
  },
  VolumeNotHealed: {
    type: "Warning",
    on: ["Pod"],
    cause: "mount-s3 ended and could not be replaced yet: files give ENOTCONN",
    fix: "Remove the cause that the message names; the driver tries again. Otherwise restart the Pod.",
    see: "../healing.md",
  },
  UploadsRefused: {
    type: "Warning",
    on: ["Pod"],
    cause: "the object store refuses files that the Pod writes, as stores do that know no trailing checksums",
    fix: "Set the chart value s3.uploadChecksums, or that of the store, to off if the store needs it; the message names it.",
    see: "../guides/stores.md",
  },
  VolumeMoved: {
    type: "Normal",
    on: ["Pod"],
    cause: "the volume was moved to another Mountpoint Pod while the Pod was running",
    fix: "Nothing has to be done. Files that were open stay with the former Mountpoint Pod until they are closed.",
    see: "../guides/moving.md",
  },
  VolumeNotMoved: {
    type: "Warning",
    on: ["Pod"],
    cause:
      "the volume was to be moved to another Mountpoint Pod, and that failed: it works as before, unless the message names a container that has lost it",
    fix: "Remove the cause that the message names, and request the move again.",
    see: "../guides/moving.md",
  },
  CredentialsNotRenewed: {
    type: "Warning",
    on: ["Pod"],
    cause:
      "the temporary credentials of the Pod's service account could not be renewed: the message says whether they have ended, and why",
    fix: "Remove the cause that the message names; the driver tries again all the time, and the volume works again without a restart.",
    see: "../guides/pod-identity.md",
  },
  CredentialsRenewed: {
    type: "Normal",
    on: ["Pod"],
    cause: "the temporary credentials of the Pod's service account were renewed, after that had failed",
    fix: "Nothing has to be done.",
    see: "../guides/pod-identity.md",
  },
  BucketKept: {
    type: "Warning",
    on: ["PersistentVolume"],
    cause: "the volume is deleted, and its bucket is kept because it holds data",
    fix: "Remove the bucket when it is no longer needed. deletePolicy of the StorageClass changes the behaviour for new claims.",
    see: "storage-class.md",
  },
  BucketRetained: {
    type: "Normal",
    on: ["PersistentVolume"],
    cause: "the volume is deleted, and its bucket is kept because deletePolicy is retain",
    fix: "Nothing has to be done. Remove the bucket when it is no longer needed.",
  },
  BucketWithoutVolume: {
    type: "Warning",
    on: ["Pod of the controller"],
    cause: "no PersistentVolume and no claim uses the bucket",
    fix: "Remove the bucket if it is not needed, or add the tag that the message names.",
    see: "storage-class.md#buckets-without-a-volume",
  },
  RolloutProgressing: {
    type: "Normal",
    on: ["Pod of the controller"],
    cause: "the workloads of Mountpoint Pods with former settings are moved to new ones (mountpointPod.rollout)",
    fix: "Nothing has to be done.",
    see: "../guides/moving.md",
  },
  RolloutWaiting: {
    type: "Normal",
    on: ["Pod of the controller"],
    cause: "Mountpoint Pods have former settings, and no further one is replaced now: the message says why",
    fix: "Nothing has to be done, unless the rollout should go on now.",
    see: "../guides/moving.md",
  },
  RolloutPaused: {
    type: "Warning",
    on: ["Pod of the controller"],
    cause: "the workloads of Mountpoint Pods could not be moved, so no further move begins. All volumes work as before",
    fix: "See the event VolumeNotMoved of their workloads, remove the cause, and set mountpointPod.rollout.retry to another value.",
    see: "../guides/moving.md",
  },
  RolloutIncomplete: {
    type: "Warning",
    on: ["Pod of the controller"],
    cause:
      "no Mountpoint Pod with former settings is left that can be replaced, but the workloads of some could not be moved. All volumes work as before",
    fix: "See the event VolumeNotMoved of the workloads, and restart their Pods, or remove the cause and set mountpointPod.rollout.retry to another value.",
    see: "../guides/moving.md",
  },
  RolloutCompleted: {
    type: "Normal",
    on: ["Pod of the controller"],
    cause: "no Mountpoint Pod with former settings is left that can be replaced",
    fix: "Nothing has to be done.",
    see: "../guides/moving.md",
  },
} as const satisfies Readonly<Record<string, CatalogueEntry>>;

export type EventReason = keyof typeof eventCatalogue;

/** The reasons of events on such an object. */
export type ReasonOn<Kind extends EventObject> = {
  [Reason in EventReason]: Kind extends (typeof eventCatalogue)[Reason]["on"][number] ? Reason : never;
}[EventReason];
