/** The Pod that reserves room on the node of a workload until the Mountpoint Pod takes it (LC-19). */

import { headroom, headroomPodName, type PodName, type PodUid } from "../../../core/names.ts";
import { effectiveResources } from "../../../core/volume/container-resources.ts";
import type { S3Volume } from "../persistent-volume.ts";
import type { Reservation } from "../reservation.ts";
import { containerSecurity, type MountpointPodConfig } from "./mountpoint-pod.ts";
import { validLabels } from "./pod-metadata.ts";

/** The settings of all headroom Pods of an installation that Mountpoint Pods do not have. */
export interface HeadroomConfig {
  readonly enabled: boolean;
  readonly image: string;
  readonly imagePullPolicy: string;
  /** Empty: the entry point of the image waits, as that of a pause image does. */
  readonly command: readonly string[];
  readonly priorityClassName: string;
}

export interface HeadroomPod {
  readonly name: PodName;
  readonly uid: PodUid;
  /** The workload for whose Mountpoint Pod it reserves room. */
  readonly workload: PodUid;
  /** It has reached a final phase and reserves no room any more. */
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
      // The autoscaler does not remove a node with a Pod that has no owner, unless the Pod says so.
      annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" },
    },
    spec: {
      // A preempted headroom Pod frees its room at once: it has nothing to finish.
      terminationGracePeriodSeconds: 0,
      priorityClassName: config.priorityClassName,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
      nodeSelector: { "kubernetes.io/os": "linux" },
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [nextTo(uid, namespace)] } },
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

/** undefined for a Pod that the driver did not create, although it is in the namespace of Mountpoint Pods (SE-1). */
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

/** Required affinity: the scheduler puts the headroom Pod on the node of the workload, or nowhere. */
function nextTo(workload: PodUid, namespace: string) {
  return {
    topologyKey: "kubernetes.io/hostname",
    namespaces: [namespace],
    labelSelector: { matchLabels: { [headroom.workloadLabel]: workload } },
  } as const;
}
