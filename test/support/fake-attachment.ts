import type { NodeName, PodName, PodUid, PvName, VolumeId } from "../../src/core/names.ts";
import type { LocalAttachment } from "../../src/node/cluster/attachments.ts";

interface Assignment {
  readonly volume: PvName;
  readonly mountpointPod: PodName;
  readonly workloads: readonly PodUid[];
}

/** What the controller writes when a Mountpoint Pod is to serve these workloads. */
export function attachmentOf({ volume, mountpointPod, workloads }: Assignment): LocalAttachment {
  const served = workloads.map((uid) => ({ workloadPodUID: uid, attachmentTime: "2026-01-15T10:30:00Z" }));
  return {
    name: "s3pa-1",
    uid: "uid-of-attachment",
    status: {},
    unschedulable: undefined,
    nodeName: "node-1" as NodeName,
    persistentVolumeName: volume,
    volumeID: "photos" as VolumeId,
    mountOptions: "",
    workloadFSGroup: "",
    mountpointS3PodAttachments: { [mountpointPod]: served },
  };
}
