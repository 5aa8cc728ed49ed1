/** The Pod that runs mount-s3 for one volume on one node. */
import {
  annotations,
  comm,
  labels,
  mountpointContainer,
  mountpointPodName,
  type NodeName,
  type PodUid,
  scratch,
} from "./names.ts";
import type { S3Volume } from "./persistent-volume.ts";

/** What is the same for every Mountpoint Pod of an installation. */
export interface MountpointPodConfig {
  readonly namespace: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly command: string;
  readonly priorityClassName: string;
  readonly driverVersion: string;
  readonly mountpointVersion: string;
}

/** What this one is for. Its name follows from it, so creation can be repeated after a crash. */
export interface MountpointPodPurpose {
  readonly volume: S3Volume;
  /** The workload that made us need it; others may share it later. */
  readonly workload: PodUid;
  readonly node: NodeName;
  /** 0, or how many predecessors died. */
  readonly generation: number;
}

export function mountpointPod(config: MountpointPodConfig, purpose: MountpointPodPurpose) {
  const { volume, workload, generation } = purpose;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: mountpointPodName(workload, volume.name, generation),
      namespace: config.namespace,
      labels: validLabels({
        [labels.mountpointVersion]: config.mountpointVersion,
        [labels.driverVersion]: config.driverVersion,
        [labels.podUid]: workload,
        [labels.volumeName]: volume.name,
      }),
      annotations: {
        [annotations.volumeName]: volume.name,
        [annotations.volumeId]: volume.volumeId,
        [annotations.identity]: volume.identity,
        ...(volume.readOnly ? { [annotations.readOnly]: "true" } : {}),
        // Without it the autoscaler keeps a node whose only Pods are ours.
        "cluster-autoscaler.kubernetes.io/daemonset-pod": "true",
      },
    },
    spec: podSpec(config, purpose),
  } as const;
}

/** Long enough for a drain to end every workload first: the end comes from the unmount, not from the signal (DS-9). */
const gracePeriodSeconds = 600;

/** uid and gid of 2.x: they are what users see as owner and group of their files. */
const user = { uid: 1000, gid: 0, fsGroup: 1000 } as const;

function podSpec(config: MountpointPodConfig, { volume, node }: MountpointPodPurpose) {
  const { serviceAccountName } = volume.attributes;
  return {
    restartPolicy: "OnFailure",
    terminationGracePeriodSeconds: gracePeriodSeconds,
    priorityClassName: config.priorityClassName,
    automountServiceAccountToken: false,
    // An environment variable for every Service of the namespace is of no use to mount-s3.
    enableServiceLinks: false,
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
    nodeSelector: { "kubernetes.io/os": "linux" },
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onlyOn(node) } },
    tolerations: [{ operator: "Exists" }],
    securityContext: {
      runAsNonRoot: true,
      // Group of the memory volume, setgid: so the Pod can read what root writes there with mode 0640.
      fsGroup: user.fsGroup,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container(config)],
    volumes: [
      { name: comm.volume, emptyDir: { medium: "Memory", sizeLimit: "10Mi" } },
      { name: scratch.volume, emptyDir: {} },
    ],
  } as const;
}

/** No probe: it must not be possible for a probe to kill a file system that others use. */
function container(config: MountpointPodConfig) {
  return {
    name: mountpointContainer,
    image: config.image,
    imagePullPolicy: config.imagePullPolicy,
    command: [config.command],
    workingDir: scratch.containerPath,
    // The end of mount-s3's stderr in the Pod's status is how the node plugin learns why a mount failed.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: { requests: { cpu: "10m", memory: "32Mi" } },
    securityContext: {
      runAsUser: user.uid,
      runAsGroup: user.gid,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [
      { name: comm.volume, mountPath: comm.containerPath },
      { name: scratch.volume, mountPath: scratch.containerPath },
    ],
  } as const;
}

/** Through the scheduler all the same, so that resources are accounted for and others can be preempted. */
function onlyOn(node: NodeName) {
  const byName = { key: "metadata.name", operator: "In", values: [node] } as const;
  return { nodeSelectorTerms: [{ matchFields: [byName] }] } as const;
}

/** A volume may have a name that no label can hold (63 characters): then the annotation alone carries it (MP-6). */
function validLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const valid = Object.entries(all).filter(([, value]) =>
    /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/.test(value),
  );
  return Object.fromEntries(valid);
}
