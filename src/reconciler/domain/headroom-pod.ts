/** The Pod that keeps room on a workload's node until the Mountpoint Pod takes it (LC-19). */
import { effectiveResources } from "../../core/container-resources.ts";
import { headroom, headroomPodName, type PodName, type PodUid } from "../../core/names.ts";
import { containerSecurity, type MountpointPodConfig, validLabels } from "./mountpoint-pod.ts";
import type { S3Volume } from "./persistent-volume.ts";
import type { Reservation } from "./reservation.ts";

/** What is the same for every headroom Pod of an installation, beside what it shares with Mountpoint Pods. */
export interface HeadroomConfig {
  readonly enabled: boolean;
  readonly image: string;
  readonly imagePullPolicy: string;
  /** Empty: the image waits by itself, as a pause image does. */
  readonly command: readonly string[];
  readonly priorityClassName: string;
}

export interface HeadroomPod {
  readonly name: PodName;
  readonly uid: PodUid;
  /** For whose Mountpoint Pod it keeps room. */
  readonly workload: PodUid;
  /** It keeps no room any more. */
  readonly ended: boolean;
  readonly terminating: boolean;
}

export function headroomPod(
  config: HeadroomConfig,
  mountpointPods: MountpointPodConfig,
  { uid, namespace }: Reservation,
  volume: S3Volume,
) {
  const { imagePullSecrets, tolerations } = mountpointPods;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: headroomPodName(uid, volume.name),
      namespace: mountpointPods.namespace,
      labels: validLabels({ [headroom.podLabel]: uid, [headroom.volumeLabel]: volume.name }),
      // A Pod without an owner would otherwise keep the autoscaler from removing the node.
      annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" },
    },
    spec: {
      // It gives way at once: nothing in it is worth a goodbye.
      terminationGracePeriodSeconds: 0,
      priorityClassName: config.priorityClassName,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
      nodeSelector: { "kubernetes.io/os": "linux" },
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [besides(uid, namespace)] } },
      tolerations,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: "headroom",
          image: config.image,
          imagePullPolicy: config.imagePullPolicy,
          ...(config.command.length === 0 ? {} : { command: config.command }),
          resources: effectiveResources(mountpointPods.resources, volume.attributes.resources),
          securityContext: containerSecurity(mountpointPods),
        },
      ],
    },
  } as const;
}

/** The fields of a Pod object that `headroomPodFrom` looks at. */
export interface HeadroomPodObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly phase?: string };
}

/** undefined for a Pod that is none of ours, although it lives in the namespace of Mountpoint Pods (SE-1). */
export function headroomPodFrom({ metadata, status }: HeadroomPodObject): HeadroomPod | undefined {
  const workload = metadata.labels?.[headroom.podLabel];
  if (!/^hr-[0-9a-f]{56}$/.test(metadata.name) || !workload) return undefined;
  return {
    name: metadata.name as PodName,
    uid: metadata.uid as PodUid,
    workload: workload as PodUid,
    ended: status?.phase === "Succeeded" || status?.phase === "Failed",
    terminating: metadata.deletionTimestamp !== undefined,
  };
}

/** The scheduler finds a node for the workload first, and this Pod then fits there or nowhere. */
function besides(workload: PodUid, namespace: string) {
  return {
    topologyKey: "kubernetes.io/hostname",
    namespaces: [namespace],
    labelSelector: { matchLabels: { [headroom.workloadLabel]: workload } },
  } as const;
}
