/**
 * WM-1. kubelet calls NodePublishVolume about 200 ms after a workload was assigned a Mountpoint Pod, and then looks every 300 ms whether the
 * volumes of the Pod are mounted. A Mountpoint Pod that has waited for a volume can use that time: the node plugin mounts its source as
 * soon as it observes the assignment. kubelet's call then only binds it. Every failure is left to that call, which meets and reports it.
 */
import { isWarmPodName, type PodName } from "../../core/names.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds, type PersistentVolume } from "../../kube/kinds.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { LocalAttachment } from "../cluster/attachments.ts";
import { targetPath } from "../domain/target-path.ts";
import { ensureSource } from "./ensure-source.ts";
import { parseRequest } from "./parse-request.ts";
import type { PublishRoom } from "./publish-room.ts";
import { wantedMount } from "./wanted-mount.ts";

type Api = Pick<KubeClient, "get">;

/** As long as a call of kubelet takes at most. */
const limitMs = 60_000;

/** Until it is disposed. */
export function mountAhead(call: Call, room: PublishRoom, client: Api): Disposable {
  return room.cluster.attachments.store.subscribe(({ before, after }) => {
    if (after === undefined) return;
    for (const name of assignedIn(after, before)) {
      if (!wake(room, name)) continue;
      inBackground(
        call.log,
        "mounting ahead of kubelet's call",
        ahead(call, room, { client, attachment: after, name }),
      );
    }
  });
}

/** Mountpoint Pods that were created without a volume, and that the attachment has not listed before. */
function assignedIn(after: LocalAttachment, before: LocalAttachment | undefined): readonly PodName[] {
  const names = Object.keys(after.mountpointS3PodAttachments).filter(isWarmPodName);
  return names.filter((name) => before?.mountpointS3PodAttachments[name] === undefined);
}

/**
 * The Mountpoint Pod becomes the mounter with the first connection. This one is closed again: the mounter waits for the next. False if it
 * does not wait, because it serves already, or has not started.
 */
function wake(room: PublishRoom, name: PodName): boolean {
  const pod = room.cluster.mountpointPods.get(name);
  if (pod === undefined || room.mounts.table().source(name) !== undefined) return false;
  try {
    using volume = room.credentials.comm.open(pod.uid);
    using connection = volume?.connect();
    return connection !== undefined;
  } catch {
    return false; // the Mountpoint Pod has made a mess of its volume: kubelet's call reports that
  }
}

interface Assigned {
  readonly client: Api;
  readonly attachment: LocalAttachment;
  readonly name: PodName;
}

async function ahead(call: Call, room: PublishRoom, { client, attachment, name }: Assigned): Promise<void> {
  using limited = deadline(call, limitMs, "the source to be mounted ahead of kubelet's call");
  try {
    const { persistentVolumeName } = attachment;
    const volume = await client.get(limited, kinds.persistentVolumes, { name: persistentVolumeName });
    const request = volume && requestAhead(room.mounts.kubeletDir, attachment, name, volume);
    if (request === undefined) return;
    const wanted = wantedMount(room.settings, room.cluster.kubernetesVersion, parseRequest(room, request));
    using _after = { [Symbol.dispose]: () => room.sources.unmounts.add(name) };
    using _publishing = room.sources.registry.publishing(name);
    await ensureSource(limited, room.sources, name, wanted);
    call.log.info("mounted ahead of kubelet's call", { mountpointPod: name, volume: persistentVolumeName });
  } catch (error) {
    if (call.signal.aborted) return;
    call.log.debug("not mounted ahead of kubelet's call", { mountpointPod: name, error });
  }
}

/**
 * The request that kubelet is about to send. undefined where it cannot be known: keys of a Secret come only with it, and options that have
 * changed since the assignment lead to another attachment.
 */
export function requestAhead(
  kubeletDir: string,
  attachment: LocalAttachment,
  name: PodName,
  { spec }: PersistentVolume,
): NodePublishVolumeRequest | undefined {
  const { persistentVolumeName: persistentVolume, volumeID, mountOptions, workloadFSGroup } = attachment;
  const { csi, mountOptions: mountFlags = [] } = spec;
  const workload = attachment.mountpointS3PodAttachments[name]?.[0]?.workloadPodUID;
  const isSame = csi?.volumeHandle === volumeID && mountFlags.join(",") === mountOptions;
  if (csi === undefined || workload === undefined || !isSame || !usesDriverCredentials(csi)) return undefined;
  return {
    volumeId: volumeID,
    publishContext: {},
    stagingTargetPath: "",
    targetPath: targetPath(kubeletDir, { workload, persistentVolume }),
    volumeCapability: {
      accessType: {
        $case: "mount",
        value: { fsType: "", mountFlags: [...mountFlags], volumeMountGroup: workloadFSGroup },
      },
      // Only the bind of a workload is read-only, never the source.
      accessMode: { mode: Mode.MULTI_NODE_MULTI_WRITER },
    },
    readonly: false,
    secrets: {},
    volumeContext: { ...csi.volumeAttributes },
  };
}

function usesDriverCredentials({
  nodePublishSecretRef,
  volumeAttributes,
}: NonNullable<PersistentVolume["spec"]["csi"]>) {
  const source = volumeAttributes?.["authenticationSource"] ?? "";
  return nodePublishSecretRef === undefined && ["", "driver"].includes(source);
}
