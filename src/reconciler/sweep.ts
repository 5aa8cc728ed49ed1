/** The stale cleanup of contract 1.6: reconciles every volume on every node periodically, whether or not a watch reported a change. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../runtime/call.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "./domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf } from "./observe/view.ts";

/** Ends when the call does. Operators search the log for "cleanup" (contract 1.11). */
export async function sweep(
  call: Call,
  view: View,
  queue: { add(key: VolumeOnNodeKey): void },
  intervalMs: number,
): Promise<void> {
  while (!call.signal.aborted) {
    try {
      await sleep(intervalMs, undefined, { signal: call.signal });
    } catch {
      return; // the call has ended
    }
    const keys = everyVolumeOnNode(view);
    for (const key of keys) queue.add(key);
    call.log.info("stale cleanup queued every volume on every node", { volumesOnNodes: keys.size });
  }
}

export function everyVolumeOnNode(view: View): ReadonlySet<VolumeOnNodeKey> {
  const keys = new Set<VolumeOnNodeKey>();
  for (const workload of view.workloads.values()) for (const key of volumesOnNodeOf(view, workload)) keys.add(key);
  for (const attachment of view.attachments.values()) keys.add(volumeOnNodeOf(attachment));
  for (const pod of view.mountpointPods.values()) keys.add(volumeOnNodeKey(pod));
  return keys;
}
