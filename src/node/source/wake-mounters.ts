/**
 * WM-1. A Mountpoint Pod that waits for a volume becomes the mounter with the first connection, and Node takes a while to start. kubelet calls
 * NodePublishVolume about 300 ms after the assignment, so the node plugin connects once as soon as it observes the assignment, and closes
 * the connection again. The mounter is ready when the call comes.
 */
import { isWarmPodName, type PodName } from "../../core/names.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalAttachment } from "../cluster/attachments.ts";
import type { SourceRoom } from "./source-room.ts";

/** Runs until the call ends. */
export async function wakeMounters(call: Call, room: SourceRoom): Promise<void> {
  const { attachments } = room.cluster;
  using _changes = attachments.store.subscribe(({ before, after }) => {
    for (const name of newIn(after, before)) wake(call, room, name);
  });
  await orAborted(call, new Promise<never>(() => undefined)).catch(() => undefined);
}

/** Mountpoint Pods without a volume at their creation that the attachment has not listed before. */
function newIn(after: LocalAttachment | undefined, before: LocalAttachment | undefined): readonly PodName[] {
  const names = Object.keys(after?.mountpointS3PodAttachments ?? {}).filter(isWarmPodName);
  return names.filter((name) => before?.mountpointS3PodAttachments[name] === undefined);
}

/** Only a start that is earlier: a failure is met again, and reported, by the call of kubelet. */
function wake(call: Call, room: SourceRoom, name: PodName): void {
  const pod = room.cluster.mountpointPods.get(name);
  if (pod === undefined || room.mounts.table().source(name) !== undefined) return;
  try {
    using volume = room.credentials.comm.open(pod.uid);
    using connection = volume?.connect();
    if (connection !== undefined) call.log.debug("woke a Mountpoint Pod that was assigned", { mountpointPod: name });
  } catch (error) {
    call.log.debug("could not wake a Mountpoint Pod that was assigned", { mountpointPod: name, error });
  }
}
