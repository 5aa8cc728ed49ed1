/** A healthy cluster with one volume, one node and one workload; tests change what they are about. */
import { driverName, labels, type NodeName, type PodUid, type PvName, type VolumeId } from "../core/names.ts";
import type { Cluster } from "./cluster.ts";
import type { AttachmentObject, PersistentVolume, Pod } from "./objects.ts";

const now = "2026-01-15T10:10:00Z";
const created = "2026-01-15T10:00:00Z";
export const mountpointPodName = `mp-${"0".repeat(56)}`;
export const waitingPodName = `mp-warm-${"0".repeat(40)}`;

export function metadata(name: string, namespace?: string) {
  return { name, uid: `uid-of-${name}`, creationTimestamp: created, ...(namespace && { namespace }) };
}

export function volume(but: Partial<PersistentVolume["spec"]> = {}): PersistentVolume {
  return {
    metadata: metadata("data"),
    spec: {
      accessModes: ["ReadWriteMany"],
      mountOptions: ["allow-delete"],
      claimRef: { namespace: "shop", name: "claim" },
      csi: { driver: driverName, volumeHandle: "handle", volumeAttributes: { bucketName: "bucket" } },
      ...but,
    },
    status: { phase: "Bound" },
  };
}

export function attachment(but: Partial<AttachmentObject> = {}): AttachmentObject {
  return {
    metadata: metadata("s3pa-1"),
    spec: {
      nodeName: "worker-1" as NodeName,
      persistentVolumeName: "data" as PvName,
      volumeID: "handle" as VolumeId,
      mountOptions: "allow-delete",
      workloadFSGroup: "",
      mountpointS3PodAttachments: {
        [mountpointPodName]: [{ workloadPodUID: "uid-of-app" as PodUid, attachmentTime: created }],
      },
    },
    status: { mountpointPods: { [mountpointPodName]: { health: "serving", phase: "Running" } } },
    ...but,
  };
}

export function mountpointPod(but: Partial<Pod> = {}): Pod {
  const marks = { [labels.driverVersion]: "3.0.0", [labels.podUid]: "uid-of-app", [labels.volumeName]: "data" };
  return {
    metadata: { ...metadata(mountpointPodName, "mount-s3"), labels: marks },
    spec: { nodeName: "worker-1", containers: [{ name: "mountpoint" }] },
    status: {
      phase: "Running",
      containerStatuses: [{ name: "mountpoint", ready: true, restartCount: 0 }],
    },
    ...but,
  };
}

/** A Mountpoint Pod that waits for a volume. */
export function waitingPod(but: Partial<Pod> = {}): Pod {
  const marks = { [labels.driverVersion]: "3.0.0", [labels.warm]: "waiting" };
  const pod = mountpointPod();
  return { ...pod, metadata: { ...metadata(waitingPodName, "mount-s3"), labels: marks }, ...but };
}

function workload(): Pod {
  return {
    metadata: metadata("app", "shop"),
    spec: {
      nodeName: "worker-1",
      containers: [{ name: "app" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "claim" } }],
    },
    status: { phase: "Running" },
  };
}

export function cluster(but: Partial<Cluster> = {}): Cluster {
  return {
    readAt: now,
    context: "lab",
    namespaces: { driver: "kube-system", mountpointPods: "mount-s3" },
    volumes: [volume()],
    claims: [{ metadata: metadata("claim", "shop"), spec: { volumeName: "data" }, status: { phase: "Bound" } }],
    attachments: [attachment()],
    mountpointPods: [mountpointPod()],
    workloads: [workload()],
    unreadable: [],
    ...but,
  };
}
