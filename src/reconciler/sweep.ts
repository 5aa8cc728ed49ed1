/** The safety net: looks at every place now and then, whether or not anything was heard of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../runtime/call.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "./domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf } from "./observe/view.ts";

/** Ends when the call does. Operators search the log for "cleanup" to see that it works. */
export async function sweep(
  call: Call,
  view: View,
  queue: { add(place: VolumeOnNodeKey): void },
  intervalMs: number,
): Promise<void> {
  while (!call.signal.aborted) {
    try {
      await sleep(intervalMs, undefined, { signal: call.signal });
    } catch {
      return; // the call has ended
    }
    const places = everyVolumeOnNode(view);
    for (const place of places) queue.add(place);
    call.log.info("stale cleanup looks at every place", { places: places.size });
  }
}

export function everyVolumeOnNode(view: View): ReadonlySet<VolumeOnNodeKey> {
  const places = new Set<VolumeOnNodeKey>();
  for (const workload of view.workloads.values())
    for (const place of volumesOnNodeOf(view, workload)) places.add(place);
  for (const attachment of view.attachments.values()) places.add(volumeOnNodeOf(attachment));
  for (const pod of view.mountpointPods.values()) places.add(volumeOnNodeKey(pod));
  return places;
}
