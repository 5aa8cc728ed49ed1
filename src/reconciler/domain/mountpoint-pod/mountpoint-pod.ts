/** The Pod that runs mount-s3 for one volume on one node. */

import type { Identity } from "../../../core/identity.ts";
import {
  annotations,
  cacheContainerPath,
  comm,
  labels,
  livePrefix,
  mountpointContainer,
  mountpointPodName,
  type NodeName,
  type PodName,
  type PodUid,
  scratch,
} from "../../../core/names.ts";
import { cacheMemoryMib, cacheVolumeSource } from "../../../core/volume/cache-volume.ts";
import {
  type ContainerResources,
  effectiveResources,
  leastMemoryMib,
  memoryLimitMib,
} from "../../../core/volume/container-resources.ts";
import { mountArguments } from "../../../core/volume/mount-args.ts";
import type { S3Volume } from "../persistent-volume.ts";
import { type CaBundle, caVolumes, installCaContainer, rootsMount } from "./ca-bundle.ts";
import { validLabels, withoutRequests } from "./pod-metadata.ts";
import { settingsHash, settingsOf } from "./settings-hash.ts";

/** The settings of all Mountpoint Pods of an installation. */
export interface MountpointPodConfig {
  readonly namespace: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly command: string;
  readonly priorityClassName: string;
  /** For Mountpoint Pods with a headroom Pod, which they preempt. */
  readonly preemptingPriorityClassName: string;
  readonly driverVersion: string;
  readonly mountpointVersion: string;
  /** Defaults; attributes of a volume override them. */
  readonly resources: ContainerResources;
  readonly tolerations: readonly object[];
  /** Names of Secrets in the namespace of Mountpoint Pods. */
  readonly imagePullSecrets: readonly string[];
  /** Further labels and annotations from the chart; those of the driver take precedence. */
  readonly extra: PodMetadata;
  /** undefined: mount-s3 trusts the roots of the image only. */
  readonly ca: CaBundle | undefined;
  /** platform: OpenShift assigns users and groups to each namespace, and refuses others. */
  readonly userBy: "driver" | "platform";
}

export interface PodMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a Mountpoint Pod is for. Its name derives from this, so its creation can be repeated after a crash. */
export interface MountpointPodPurpose {
  readonly volume: S3Volume;
  /** Whose credentials its mount uses. */
  readonly identity: Identity;
  /** The first workload that needs the Pod; others may share it later. */
  readonly workload: PodUid;
  readonly node: NodeName;
  /** 0 for the first Mountpoint Pod, 1 for its successor, and so on. */
  readonly generation: number;
  /** Whether it may preempt Pods of lower priority: it has a headroom Pod (LC-19). */
  readonly preempts?: boolean;
  /** The Mountpoint Pod whose workloads move to it (LC-21). */
  readonly replaces?: PodName;
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
        ...installationLabels(config),
        [labels.podUid]: workload,
        [labels.volumeName]: volume.name,
      }),
      annotations: annotationsOf(config, purpose),
    },
    spec: podSpec(config, purpose),
  } as const;
}

function annotationsOf(
  config: MountpointPodConfig,
  { volume, identity, replaces }: MountpointPodPurpose,
): Readonly<Record<string, string>> {
  const ofMove = replaces === undefined ? {} : { [annotations.replaces]: replaces };
  const settings = { [annotations.settings]: settingsOf(settingsHash(config), volume) };
  return { ...installationAnnotations(config), ...volumeAnnotations(volume, identity), ...ofMove, ...settings };
}

/** The labels of every Mountpoint Pod of the installation. */
export function installationLabels(config: MountpointPodConfig): Readonly<Record<string, string>> {
  return {
    ...config.extra.labels,
    [labels.mountpointVersion]: config.mountpointVersion,
    [labels.driverVersion]: config.driverVersion,
  };
}

/** The annotations of every Mountpoint Pod of the installation. */
export function installationAnnotations(config: MountpointPodConfig): Readonly<Record<string, string>> {
  return {
    ...withoutRequests(config.extra.annotations),
    [annotations.settings]: settingsHash(config),
    // Without this the autoscaler does not remove a node that runs Mountpoint Pods only.
    "cluster-autoscaler.kubernetes.io/daemonset-pod": "true",
  };
}

/** What a Mountpoint Pod says about its volume. */
export function volumeAnnotations(volume: S3Volume, identity: Identity): Readonly<Record<string, string>> {
  return {
    [annotations.volumeName]: volume.name,
    [annotations.volumeId]: volume.volumeId,
    [annotations.identity]: identity,
    ...(volume.readOnly ? { [annotations.readOnly]: "true" } : {}),
    ...(volume.claim === undefined ? {} : { [annotations.claim]: volume.claim }),
    ...volume.live.annotations,
    ...(volume.moveRequest === undefined ? {} : { [annotations.fulfilsMove]: volume.moveRequest }),
  };
}

/** Warnings for the owner of a workload about settings with which the Pod is created nevertheless. */
export function mountpointPodWarnings(config: MountpointPodConfig, volume: S3Volume): readonly string[] {
  return [...optionWarnings(volume), ...memoryWarnings(config, volume)];
}

/** Warnings about mount options; they do not depend on the workload. */
function optionWarnings({ name, mountOptions, attributes, cache }: S3Volume): readonly string[] {
  const { region, prefix } = attributes;
  const spec = { options: mountOptions, region, prefix, cache, readOnly: false, fsGroup: "", userAgentPrefix: "" };
  const fix = "In mountOptions of the PersistentVolume or StorageClass: leave it out.";
  return mountArguments(spec).warnings.map((warning) => `PersistentVolume ${name}: ${warning}. ${fix}`);
}

function memoryWarnings(config: MountpointPodConfig, volume: S3Volume): readonly string[] {
  const leftMib = memoryForMountS3Mib(config, volume);
  if (leftMib === undefined || leftMib >= leastMemoryMib) return [];
  const neededMib = leastMemoryMib + cacheMemoryMib(volume.cache);
  const attribute = "mountpointContainerResourcesLimitsMemory";
  const isLive = `${livePrefix}${attribute}` in volume.live.annotations;
  return [
    `PersistentVolume ${volume.name}: its memory limit leaves ${leftMib} MiB to mount-s3, which needs ${leastMemoryMib} MiB and may be killed under load. ` +
      `In the PersistentVolume: set ${isLive ? `the annotation ${livePrefix}` : "volumeAttributes."}${attribute} to ${neededMib}Mi or more.`,
  ];
}

/** DS-9. Long enough for a drain to end every workload first: the Pod ends by the unmount, not by the signal. */
const gracePeriodSeconds = 600;

/** uid and gid of 2.x: users see them as owner and group of their files. */
const user = { uid: 1000, gid: 0, fsGroup: 1000 } as const;

/** Depends on the volume, the node and whether the Pod preempts others, and on nothing else of its purpose. */
export function podSpec(
  config: MountpointPodConfig,
  { volume, node, preempts }: Pick<MountpointPodPurpose, "volume" | "node" | "preempts">,
) {
  const { ca, imagePullSecrets } = config;
  const { serviceAccountName } = volume.attributes;
  return {
    restartPolicy: "OnFailure",
    terminationGracePeriodSeconds: gracePeriodSeconds,
    priorityClassName: preempts ? config.preemptingPriorityClassName : config.priorityClassName,
    automountServiceAccountToken: false,
    // mount-s3 needs no environment variables for the Services of the namespace.
    enableServiceLinks: false,
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    nodeSelector: { "kubernetes.io/os": "linux" },
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onlyOn(node) } },
    tolerations: config.tolerations,
    securityContext: {
      runAsNonRoot: true,
      // The memory volume gets this group and setgid, so the Pod can read files that root writes there with mode 0640.
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

/** Without probes: a probe must not be able to kill a file system that workloads use. */
function container(config: MountpointPodConfig, volume: S3Volume) {
  const target = memoryTargetMib(config, volume);
  return {
    name: mountpointContainer,
    image: config.image,
    imagePullPolicy: config.imagePullPolicy,
    command: [config.command],
    ...(target === undefined ? {} : { args: [`--memory-target=${target}`] }),
    workingDir: scratch.containerPath,
    // The node plugin reads the end of the stderr of mount-s3 from the status of the Pod, to report why a mount failed.
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

/** The memory limit minus a cache in memory; undefined: there is no limit. */
function memoryForMountS3Mib(config: MountpointPodConfig, { attributes, cache }: S3Volume): number | undefined {
  const limitMib = memoryLimitMib(effectiveResources(config.resources, attributes.resources));
  return limitMib === undefined ? undefined : limitMib - cacheMemoryMib(cache);
}

/**
 * mount-s3 reads the limit of its container, but does not know that its cache may be in the same memory. mount-s3 has the option since
 * 1.24 and refuses values below its minimum.
 */
function memoryTargetMib(config: MountpointPodConfig, volume: S3Volume): number | undefined {
  const [major = 0, minor = 0] = config.mountpointVersion.replace(/^v/, "").split(".").map(Number);
  const hasOption = major > 1 || (major === 1 && minor >= 24);
  const leftMib = memoryForMountS3Mib(config, volume);
  if (leftMib === undefined || !hasOption) return undefined;
  const target = Math.floor(leftMib * 0.95);
  return target < leastMemoryMib ? undefined : target;
}

/** Node affinity instead of nodeName: the scheduler then accounts for resources and can preempt other Pods. */
function onlyOn(node: NodeName) {
  const byName = { key: "metadata.name", operator: "In", values: [node] } as const;
  return { nodeSelectorTerms: [{ matchFields: [byName] }] } as const;
}
