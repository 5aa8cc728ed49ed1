/** The Pod that runs mount-s3 for one volume on one node. */

import { cacheMemoryMib, cacheVolumeSource } from "../../core/cache-volume.ts";
import {
  type ContainerResources,
  effectiveResources,
  leastMemoryMib,
  memoryLimitMib,
} from "../../core/container-resources.ts";
import { mountArguments } from "../../core/mount-args.ts";
import {
  annotations,
  cacheContainerPath,
  comm,
  labels,
  mountpointContainer,
  mountpointPodName,
  type NodeName,
  type PodUid,
  scratch,
} from "../../core/names.ts";
import { type CaBundle, caVolumes, installCaContainer, rootsMount } from "./ca-bundle.ts";
import type { S3Volume } from "./persistent-volume.ts";

/** What is the same for every Mountpoint Pod of an installation. */
export interface MountpointPodConfig {
  readonly namespace: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly command: string;
  readonly priorityClassName: string;
  /** Of those for whom headroom was reserved: they take its place. */
  readonly preemptingPriorityClassName: string;
  readonly driverVersion: string;
  readonly mountpointVersion: string;
  /** Of volumes that say nothing else. */
  readonly resources: ContainerResources;
  readonly tolerations: readonly object[];
  /** Names of Secrets in the namespace of Mountpoint Pods. */
  readonly imagePullSecrets: readonly string[];
  /** Of the installation's own wish, beside those that the driver needs; the driver's win. */
  readonly extra: PodMetadata;
  /** undefined: the roots of the image are enough. */
  readonly ca: CaBundle | undefined;
  /** OpenShift gives every namespace users and groups of its own, and refuses others. */
  readonly userBy: "driver" | "platform";
}

export interface PodMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What this one is for. Its name follows from it, so creation can be repeated after a crash. */
export interface MountpointPodPurpose {
  readonly volume: S3Volume;
  /** The workload that made us need it; others may share it later. */
  readonly workload: PodUid;
  readonly node: NodeName;
  /** 0, or how many predecessors died. */
  readonly generation: number;
  /** Whether it may push Pods of lower priority off the node: headroom was reserved for it (LC-19). */
  readonly preempts?: boolean;
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
        ...config.extra.labels,
        [labels.mountpointVersion]: config.mountpointVersion,
        [labels.driverVersion]: config.driverVersion,
        [labels.podUid]: workload,
        [labels.volumeName]: volume.name,
      }),
      annotations: {
        ...config.extra.annotations,
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

/** What the owner of the workload should know about a Pod that is made all the same. */
export function mountpointPodWarnings(
  config: MountpointPodConfig,
  { volume }: MountpointPodPurpose,
): readonly string[] {
  return [...optionWarnings(volume), ...memoryWarnings(config, volume)];
}

/** What becomes of its mount options is the same for every workload. */
function optionWarnings({ name, mountOptions, attributes, cache }: S3Volume): readonly string[] {
  const { region, prefix } = attributes;
  const wish = { options: mountOptions, region, prefix, cache, readOnly: false, fsGroup: "", userAgentPrefix: "" };
  const fix = "In mountOptions of the PersistentVolume or StorageClass: leave it out.";
  return mountArguments(wish).warnings.map((warning) => `PersistentVolume ${name}: ${warning}. ${fix}`);
}

function memoryWarnings(config: MountpointPodConfig, volume: S3Volume): readonly string[] {
  const leftMib = memoryForMountS3Mib(config, volume);
  if (leftMib === undefined || leftMib >= leastMemoryMib) return [];
  const neededMib = leastMemoryMib + cacheMemoryMib(volume.cache);
  return [
    `PersistentVolume ${volume.name}: its memory limit leaves ${leftMib} MiB to mount-s3, which needs ${leastMemoryMib} MiB and may be killed under load. ` +
      `In the PersistentVolume: set volumeAttributes.mountpointContainerResourcesLimitsMemory to ${neededMib}Mi or more.`,
  ];
}

/** Long enough for a drain to end every workload first: the end comes from the unmount, not from the signal (DS-9). */
const gracePeriodSeconds = 600;

/** uid and gid of 2.x: they are what users see as owner and group of their files. */
const user = { uid: 1000, gid: 0, fsGroup: 1000 } as const;

function podSpec(config: MountpointPodConfig, { volume, node, preempts }: MountpointPodPurpose) {
  const { ca, imagePullSecrets } = config;
  const { serviceAccountName } = volume.attributes;
  return {
    restartPolicy: "OnFailure",
    terminationGracePeriodSeconds: gracePeriodSeconds,
    priorityClassName: preempts ? config.preemptingPriorityClassName : config.priorityClassName,
    automountServiceAccountToken: false,
    // An environment variable for every Service of the namespace is of no use to mount-s3.
    enableServiceLinks: false,
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    nodeSelector: { "kubernetes.io/os": "linux" },
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onlyOn(node) } },
    tolerations: config.tolerations,
    securityContext: {
      runAsNonRoot: true,
      // Group of the memory volume, setgid: so the Pod can read what root writes there with mode 0640.
      ...(config.userBy === "driver" ? { fsGroup: user.fsGroup } : {}),
      seccompProfile: { type: "RuntimeDefault" },
    },
    ...(ca === undefined ? {} : { initContainers: [installCaContainer(ca, containerSecurity(config))] }),
    containers: [container(config, volume)],
    volumes: [
      { name: comm.volume, emptyDir: { medium: "Memory", sizeLimit: "10Mi" } },
      { name: scratch.volume, emptyDir: {} },
      ...(volume.cache === undefined ? [] : [{ name: cacheVolumeName, ...cacheVolumeSource(volume.cache) }]),
      ...(ca === undefined ? [] : caVolumes(ca)),
    ],
  } as const;
}

const cacheVolumeName = "cache";

/** No probe: it must not be possible for a probe to kill a file system that others use. */
function container(config: MountpointPodConfig, volume: S3Volume) {
  const target = memoryTargetMib(config, volume);
  return {
    name: mountpointContainer,
    image: config.image,
    imagePullPolicy: config.imagePullPolicy,
    command: [config.command],
    ...(target === undefined ? {} : { args: [`--memory-target=${target}`] }),
    workingDir: scratch.containerPath,
    // The end of mount-s3's stderr in the Pod's status is how the node plugin learns why a mount failed.
    terminationMessagePolicy: "FallbackToLogsOnError",
    resources: effectiveResources(config.resources, volume.attributes.resources),
    securityContext: containerSecurity(config),
    volumeMounts: [
      { name: comm.volume, mountPath: comm.containerPath },
      { name: scratch.volume, mountPath: scratch.containerPath },
      ...(volume.cache === undefined ? [] : [{ name: cacheVolumeName, mountPath: cacheContainerPath }]),
      ...(config.ca === undefined ? [] : [rootsMount]),
    ],
  } as const;
}

export function containerSecurity({ userBy }: Pick<MountpointPodConfig, "userBy">) {
  return {
    ...(userBy === "driver" ? { runAsUser: user.uid, runAsGroup: user.gid } : {}),
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  } as const;
}

/** What is left of the memory limit beside a cache in memory; undefined: there is no limit. */
function memoryForMountS3Mib(config: MountpointPodConfig, { attributes, cache }: S3Volume): number | undefined {
  const limitMib = memoryLimitMib(effectiveResources(config.resources, attributes.resources));
  return limitMib === undefined ? undefined : limitMib - cacheMemoryMib(cache);
}

/**
 * mount-s3 looks at the limit of its container by itself, but does not know that its cache may lie in the same memory.
 * It has the option since 1.24 and refuses values below its least.
 */
function memoryTargetMib(config: MountpointPodConfig, volume: S3Volume): number | undefined {
  const [major = 0, minor = 0] = config.mountpointVersion.replace(/^v/, "").split(".").map(Number);
  const hasOption = major > 1 || (major === 1 && minor >= 24);
  const leftMib = memoryForMountS3Mib(config, volume);
  if (leftMib === undefined || !hasOption) return undefined;
  const target = Math.floor(leftMib * 0.95);
  return target < leastMemoryMib ? undefined : target;
}

/** Through the scheduler all the same, so that resources are accounted for and others can be preempted. */
function onlyOn(node: NodeName) {
  const byName = { key: "metadata.name", operator: "In", values: [node] } as const;
  return { nodeSelectorTerms: [{ matchFields: [byName] }] } as const;
}

/** A volume may have a name that no label can hold (63 characters): then the annotation alone carries it (MP-6). */
export function validLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const valid = Object.entries(all).filter(([, value]) =>
    /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/.test(value),
  );
  return Object.fromEntries(valid);
}
