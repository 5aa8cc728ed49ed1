/**
 * Causes of failed CSI calls. kubelet and csi-provisioner put the text of the error into events of their own: FailedMount on the Pod,
 * ProvisioningFailed on the claim, VolumeFailedDelete on the PersistentVolume. docs/reference/events.md is generated from this list.
 */

import { storeAnswerFailures } from "./store-answer-failures.ts";
import { storeChoiceFailures } from "./store-choice-failures.ts";

type CallEvent = "FailedMount" | "ProvisioningFailed" | "VolumeFailedDelete";

interface CallFailure {
  readonly events: readonly CallEvent[];
  /** Parts of the message by which the cause is known, in any case. "…" stands for any text. */
  readonly texts: readonly string[];
  readonly cause: string;
  /** Complete sentences. Plain text, as the cause: programs show both. */
  readonly fix: string;
}

/** In this order: the first cause whose text is in a message is the cause. The text for wrong credentials also says "Forbidden". */
export const callFailures = {
  // Refusals of the driver, before the object store is asked.
  refusedMountOption: {
    events: ["FailedMount"],
    texts: ["mount option … is not an option of mount-s3", "error: invalid value", "error: unexpected argument"],
    cause: "a mount option does not exist, or its value is wrong",
    fix: "Correct mountOptions of the PersistentVolume or StorageClass: one option per line, by its long name.",
  },
  refusedAttribute: {
    events: ["FailedMount"],
    texts: ["volumeAttributes.… In the PersistentVolume:"],
    cause: "an attribute of the PersistentVolume is missing or wrong",
    fix: "Correct the attribute that the message names in the PersistentVolume.",
  },
  blockVolume: {
    events: ["FailedMount", "ProvisioningFailed"],
    texts: ["asks for a block device"],
    cause: "the claim asks for a block device, and an S3 volume is a file system",
    fix: "Use volumeMode Filesystem in the claim and the PersistentVolume.",
  },
  dataSource: {
    events: ["ProvisioningFailed"],
    texts: ["volume_content_source is not supported"],
    cause: "the claim asks for a copy of a snapshot or of another volume",
    fix: "Remove dataSource and dataSourceRef from the claim, and copy the objects yourself.",
  },
  unknownLocation: {
    events: ["ProvisioningFailed"],
    texts: ["and the store has no such location"],
    cause: "the store has no location with the name of the region in the StorageClass or the provisioner Secret",
    fix: "Name a location that the store has, or leave the region out.",
  },
  sharedBucketMissing: {
    events: ["ProvisioningFailed"],
    texts: ["parameters.sharedBucket: bucket … does not exist"],
    cause: "the shared bucket of the StorageClass does not exist",
    fix: "Create the bucket: the driver neither creates nor deletes shared buckets.",
  },
  purgeNeedsTags: {
    events: ["ProvisioningFailed"],
    texts: ["parameters.deletePolicy is purge, which needs bucket tags"],
    cause: "deletePolicy is purge, and the driver cannot write the tags that later prove who owns the data",
    fix: "Grant the account s3:GetBucketTagging and s3:PutBucketTagging, or choose another deletePolicy.",
  },
  tagsRefused: {
    events: ["ProvisioningFailed"],
    texts: ["parameters.tags: the driver cannot write tags"],
    cause: "the StorageClass asks for tags, and the store or the account cannot write them",
    fix: "Use an account that may tag buckets, or remove tags from the StorageClass.",
  },
  ...storeChoiceFailures,
  refusedParameter: {
    events: ["ProvisioningFailed"],
    texts: ["parameters.… In the StorageClass:"],
    cause: "a parameter of the StorageClass is wrong",
    fix: "Correct the parameter that the message names. A StorageClass cannot be edited: delete it and create it again.",
  },
  bucketTaken: {
    events: ["ProvisioningFailed"],
    texts: ["bucket … already exists", "BucketAlreadyExists"],
    cause:
      "a bucket with the name of the volume exists, and belongs to somebody else, to another volume, or to other parameters",
    fix: "Delete the claim and create it again: a new claim gets a bucket of another name.",
  },
  // Credentials.
  secretNotFound: {
    events: ["ProvisioningFailed", "FailedMount"],
    texts: ['secrets "…" not found', 'secret "…" not found'],
    cause:
      "the Secret that the StorageClass or the PersistentVolume names does not exist; kubelet and csi-provisioner report that themselves",
    fix: "Create the Secret, or correct its name and namespace.",
  },
  secretBeingDeleted: {
    events: ["ProvisioningFailed"],
    texts: ["Secret … is being deleted", "Secret … does not exist any more"],
    cause: "the provisioner Secret is being deleted, so the bucket could never be deleted",
    fix: "Create the Secret again when it is gone, or delete the claim, too.",
  },
  deletionSecretMissing: {
    events: ["VolumeFailedDelete"],
    texts: ["does not exist, or access_key_id is missing in it"],
    cause: "the Secret with which the bucket was created is gone or empty",
    fix: "Create the Secret again, with credentials that may delete the bucket.",
  },
  secretIncomplete: {
    events: ["FailedMount", "ProvisioningFailed"],
    texts: ["access_key_id in … is missing or empty", "secret_access_key in … is missing or empty"],
    cause: "a field of the Secret is missing or empty",
    fix: "Put access_key_id and secret_access_key into the Secret. The driver's credentials are not used in its place.",
  },
  noDriverCredentials: {
    events: ["FailedMount", "ProvisioningFailed"],
    texts: [
      "the driver has no credentials",
      "the driver has no keys of its own",
      "with the keys of the driver does not exist",
      "Timed out waiting for Secret … with the keys of the driver",
    ],
    cause: "the volume names no Secret, and the driver has no credentials",
    fix: "Create the driver's Secret (chart value s3CredentialSecret.name), or name a Secret in StorageClass or PersistentVolume.",
  },
  fallbackRefused: {
    events: ["FailedMount", "ProvisioningFailed"],
    texts: ["the driver's credentials may not be used", "would be mounted with the keys of the driver"],
    cause: "only one of the two Secrets is named, and chart value s3CredentialSecret.fallback is false",
    fix: "Name both a provisioner and a node-publish Secret in the StorageClass.",
  },
  // The cluster and the node.
  noAttachment: {
    events: ["FailedMount"],
    texts: ["Timed out waiting for MountpointS3PodAttachment", "Failed to list MountpointS3PodAttachments"],
    cause: "the controller does not run or lacks rights, or the custom resource definition is missing",
    fix: "Read kubectl logs -lapp=s3-csi-controller -c s3-pod-reconciler, and check kubectl get crd mountpoints3podattachments.s3.csi.scality.com.",
  },
  mountpointPodNotScheduled: {
    events: ["FailedMount"],
    texts: ["Mountpoint Pod … has no place on the node", "Timed out waiting for Mountpoint Pod … to be scheduled"],
    cause: "the Mountpoint Pod cannot be scheduled to the node of the workload",
    fix: "Make room on the node, add the toleration to mountpointPod.tolerations of the chart, or move the workload.",
  },
  mountpointPodNotStarted: {
    events: ["FailedMount"],
    texts: ["Mountpoint Pod … does not start (", "Timed out waiting for Mountpoint Pod … to listen"],
    cause: "kubelet cannot start the Mountpoint Pod, for example because its image cannot be pulled",
    fix: "Check the chart's image.repository, image.tag and imagePullSecrets, and the events of the Mountpoint Pod.",
  },
  kubeletDirectoryNotShared: {
    events: ["FailedMount"],
    texts: ["but not on the node"],
    cause: "kubelet's directory, or a mount below it, does not propagate mounts to the node",
    fix: "On the node: mount --make-rshared for each mount that findmnt -R -o TARGET,PROPAGATION shows as private, then restart the node plugin.",
  },
  wrongKubeletPath: {
    events: ["FailedMount"],
    texts: ["is not a volume of a Pod under"],
    cause: "kubelet uses another root directory than the chart",
    fix: "Set the chart value node.kubeletPath to the root directory of kubelet.",
  },
  mountS3Hangs: {
    events: ["FailedMount"],
    texts: ["mount-s3 does not answer", "Timed out waiting for mount-s3 of Mountpoint Pod … to answer"],
    cause: "mount-s3 runs and does not answer, for example because the object store does not",
    fix: "Read the log of the Mountpoint Pod; check that the endpoint answers from the node.",
  },
  // Deletion.
  bucketNotEmpty: {
    events: ["VolumeFailedDelete"],
    texts: ["still holds data"],
    cause: "deletePolicy is refuse-until-empty, and the bucket holds objects, old versions or unfinished uploads",
    fix: "Remove the objects, with all versions and unfinished uploads.",
  },
  purgeUnproven: {
    events: ["VolumeFailedDelete"],
    texts: ["deletePolicy is purge, but it is not proven that"],
    cause: "tags, names and PersistentVolumes do not prove that the data belongs to the volume",
    fix: "Do what the message names, or remove the data yourself.",
  },
  bucketOfAnotherVolume: {
    events: ["VolumeFailedDelete"],
    texts: ["belongs to volume … by its tags and is not deleted"],
    cause: "the tags of the bucket name another volume",
    fix: "Check which PersistentVolume has the bucket. If this one was created by hand, set its reclaim policy to Retain and delete it.",
  },
  objectProtected: {
    events: ["VolumeFailedDelete"],
    texts: ["was removed and is still listed", "a client wrote to … while the driver emptied it"],
    cause: "a retention or legal hold protects an object, or a client writes it again",
    fix: "Remove the protection or stop the client; the deletion is repeated.",
  },
  prefixIgnored: {
    events: ["VolumeFailedDelete"],
    texts: ["the store listed … below … of bucket"],
    cause: "the store does not list by prefix, so the driver cannot tell which objects belong to the volume",
    fix: "Remove the objects of the volume yourself; nothing outside of its prefix was removed.",
  },
  ...storeAnswerFailures,
  // Nothing to do.
  repeated: {
    events: ["FailedMount", "ProvisioningFailed", "VolumeFailedDelete"],
    texts: [
      "an operation on … is already running",
      "the driver is stopping",
      "Mountpoint Pod … is being unmounted",
      "Mountpoint Pod … is being deleted",
      "Mountpoint Pod … is gone",
    ],
    cause: "an earlier call for the volume still runs, or the driver or the Mountpoint Pod is being replaced",
    fix: "Nothing has to be done: the call is repeated.",
  },
} as const satisfies Readonly<Record<string, CallFailure>>;

export type FailureCause = keyof typeof callFailures;

/** Finds the texts of a cause in the message of an error or event. */
export function failurePattern(cause: FailureCause): RegExp {
  const escaped = callFailures[cause].texts.map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return new RegExp(escaped.join("|").replaceAll("…", ".*"), "is");
}

/** The cause of a failed call; undefined: the message has no known text. */
export function failureCause(message: string): FailureCause | undefined {
  return (Object.keys(callFailures) as FailureCause[]).find((cause) => failurePattern(cause).test(message));
}
