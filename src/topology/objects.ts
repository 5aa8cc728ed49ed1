/** The fields of Kubernetes objects that the plugin looks at. */
import type { AttachmentSpec } from "../core/attachment.ts";
import type { AttachmentStatus } from "../core/attachment-status.ts";

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly metadata: Metadata;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly containers: readonly Container[];
    readonly volumes?: readonly PodVolume[];
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly affinity?: object;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: object;
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image?: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number; readonly message?: string };
  };
  readonly lastState?: { readonly terminated?: { readonly reason?: string; readonly exitCode?: number } };
}

interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly capacity?: { readonly storage?: string };
    readonly accessModes?: readonly string[];
    readonly mountOptions?: readonly string[];
    readonly storageClassName?: string;
    readonly persistentVolumeReclaimPolicy?: string;
    readonly claimRef?: { readonly namespace: string; readonly name: string; readonly uid?: string };
    readonly csi?: {
      readonly driver: string;
      readonly volumeHandle: string;
      readonly readOnly?: boolean;
      readonly volumeAttributes?: Readonly<Record<string, string>>;
      readonly nodePublishSecretRef?: SecretRef;
    };
  };
  readonly status?: { readonly phase?: string; readonly message?: string; readonly reason?: string };
}

export interface Claim extends KubeObject {
  readonly spec: {
    readonly volumeName?: string;
    readonly storageClassName?: string;
    readonly accessModes?: readonly string[];
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
  readonly reclaimPolicy?: string;
  readonly volumeBindingMode?: string;
}

export interface AttachmentObject extends KubeObject {
  readonly spec: AttachmentSpec;
  readonly status?: AttachmentStatus;
}

export interface Node extends KubeObject {
  readonly spec: {
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
    readonly unschedulable?: boolean;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: {
      readonly kernelVersion?: string;
      readonly kubeletVersion?: string;
      readonly operatingSystem?: string;
    };
  };
}

export interface CsiNode extends KubeObject {
  readonly spec: { readonly drivers?: readonly { readonly name: string }[] | null };
}

export interface Lease extends KubeObject {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

export interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly spec: Pod["spec"] };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberMisscheduled?: number;
  };
}

export interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
  readonly involvedObject: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
}
