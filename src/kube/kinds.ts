/**
 * The kinds that the programs use, with the fields that one of them reads or writes. The API server validates objects against their
 * schema, so answers are not validated again.
 */
import type { AttachmentStatus } from "../core/attachment-status.ts";
import { driverName } from "../core/names.ts";

export interface Kind<Shape> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: "namespaced" | "cluster";
  /** Never present: carries the type of the objects to the verbs of the client. */
  readonly __shape?: Shape;
}

export const kinds = {
  pods: core<Pod>("Pod", "pods", "namespaced"),
  persistentVolumes: core<PersistentVolume>("PersistentVolume", "persistentvolumes", "cluster"),
  persistentVolumeClaims: core<PersistentVolumeClaim>("PersistentVolumeClaim", "persistentvolumeclaims", "namespaced"),
  storageClasses: {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    plural: "storageclasses",
    scope: "cluster",
  } as Kind<StorageClass>,
  nodes: core<Node>("Node", "nodes", "cluster"),
  namespaces: core<KubeObject>("Namespace", "namespaces", "cluster"),
  secrets: core<SecretObject>("Secret", "secrets", "namespaced"),
  serviceAccounts: core<KubeObject>("ServiceAccount", "serviceaccounts", "namespaced"),
  configMaps: core<ConfigMap>("ConfigMap", "configmaps", "namespaced"),
  events: core<CoreEvent>("Event", "events", "namespaced"),
  leases: {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    plural: "leases",
    scope: "namespaced",
  } as Kind<Lease>,
  tokenReviews: {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    scope: "cluster",
  } as Kind<TokenReview>,
  subjectAccessReviews: {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    scope: "cluster",
  } as Kind<SubjectAccessReview>,
  attachments: {
    apiVersion: `${driverName}/v2`,
    kind: "MountpointS3PodAttachment",
    plural: "mountpoints3podattachments",
    scope: "cluster",
  } as Kind<MountpointS3PodAttachment>,
};

function core<Shape>(kind: string, plural: string, scope: Kind<Shape>["scope"]): Kind<Shape> {
  return { apiVersion: "v1", kind, plural, scope };
}

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** What every object has. */
export interface KubeObject {
  readonly metadata: Metadata;
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly volumes?: readonly PodVolume[];
    readonly securityContext?: { readonly fsGroup?: number };
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly priorityClassName?: string;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly (Container & { readonly restartPolicy?: string })[];
    readonly overhead?: Readonly<Record<string, string>>;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    /** RFC 3339. */
    readonly startTime?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly Condition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface Container {
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  /** A claim made for this Pod alone; its name is the Pod's name, a dash and the volume's name. */
  readonly ephemeral?: object;
}

interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason?: string;
    readonly message?: string;
    /** RFC 3339, whole seconds. */
    readonly finishedAt?: string;
  };
}

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly csi?: {
      readonly driver: string;
      readonly volumeHandle: string;
      readonly readOnly?: boolean;
      readonly volumeAttributes?: Readonly<Record<string, string>>;
      readonly nodePublishSecretRef?: { readonly name?: string; readonly namespace?: string };
    };
    readonly mountOptions?: readonly string[];
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
    readonly persistentVolumeReclaimPolicy?: string;
  };
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec: { readonly volumeName?: string; readonly storageClassName?: string };
  readonly status?: { readonly phase?: "Pending" | "Bound" | "Lost" };
}

export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly reclaimPolicy?: string;
}

/** Which workloads use which Mountpoint Pod; `workloadFSGroup` is decimal or empty, `mountOptions` joined by commas. */
export interface MountpointS3PodAttachment extends KubeObject {
  readonly spec: {
    readonly nodeName: string;
    readonly persistentVolumeName: string;
    readonly volumeID: string;
    readonly mountOptions: string;
    readonly workloadFSGroup: string;
    readonly mountpointS3PodAttachments: Readonly<Record<string, readonly WorkloadAttachment[]>>;
    /** Absent on objects made by 2.x. */
    readonly authenticationSource?: string;
  };
  readonly status?: AttachmentStatus;
}

interface WorkloadAttachment {
  readonly workloadPodUID: string;
  /** RFC 3339, UTC. */
  readonly attachmentTime: string;
}

export interface Node extends KubeObject {
  readonly spec: { readonly taints?: readonly Taint[]; readonly unschedulable?: boolean };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly nodeInfo?: { readonly kernelVersion?: string };
    readonly conditions?: readonly Condition[];
  };
}

export interface Taint {
  readonly key: string;
  readonly effect: string;
  readonly value?: string;
  readonly timeAdded?: string;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface SecretObject extends KubeObject {
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface CoreEvent extends KubeObject {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
}

/** Every field may be missing. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    /** RFC 3339 with exactly six digits of a second. */
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

/** An answer, which is not stored. */
interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/** An answer, which is not stored. */
interface SubjectAccessReview {
  readonly status?: { readonly allowed?: boolean };
}
