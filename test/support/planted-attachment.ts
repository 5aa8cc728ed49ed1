/** Attachments and Mountpoint Pods that nobody made as they should be, for a cluster whose reconciler is away. */
import { createHash } from "node:crypto";
import { labels } from "../../src/core/names.ts";

export interface Planted {
  readonly name: string;
  readonly node?: string;
  readonly volume: string;
  /** UIDs of workloads. */
  readonly workloads?: readonly string[];
  readonly fsGroup?: string;
}

export function plantedPodName(name: string): string {
  return `mp-${createHash("sha224").update(name).digest("hex")}`;
}

export function plantedAttachment({ name, node = "worker-1", volume, workloads = [name], fsGroup = "" }: Planted) {
  const attachmentTime = new Date().toISOString().replace(/\.\d+/, "");
  return {
    apiVersion: "s3.csi.scality.com/v2",
    kind: "MountpointS3PodAttachment",
    metadata: { name: `s3pa-${name}` },
    spec: {
      nodeName: node,
      persistentVolumeName: volume,
      volumeID: volume,
      mountOptions: "",
      workloadFSGroup: fsGroup || name,
      mountpointS3PodAttachments: {
        [plantedPodName(name)]: workloads.map((workloadPodUID) => ({ workloadPodUID, attachmentTime })),
      },
    },
  };
}

export interface PlantedPod {
  readonly name: string;
  readonly volume: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly restartPolicy?: "Never" | "OnFailure";
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Passes the profile "restricted" that the namespace enforces. */
export function plantedPod(planted: PlantedPod) {
  const { name, volume, image = "docker.io/library/busybox:1.37", command = ["sleep", "2147483647"] } = planted;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: plantedPodName(name),
      namespace: "mount-s3",
      labels: {
        [labels.driverVersion]: "planted",
        [labels.podUid]: name,
        [labels.volumeName]: volume,
        planted: "true",
      },
      annotations: planted.annotations ?? {},
    },
    spec: {
      restartPolicy: planted.restartPolicy ?? "OnFailure",
      terminationGracePeriodSeconds: 0,
      nodeSelector: planted.nodeSelector ?? { "kubernetes.io/hostname": "worker-1" },
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          ...{ name: "mountpoint", image, command },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}
