/** The safety net: looks at every place now and then, whether or not anything was heard of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../runtime/call.ts";
import { type PlaceKey, placeKey } from "./domain/volume-on-node.ts";
import { placeOf, placesOf, type View } from "./observe/view.ts";

/** Ends when the call does. Operators search the log for "cleanup" to see that it works. */
export async function sweep(
  call: Call,
  view: View,
  queue: { add(place: PlaceKey): void },
  intervalMs: number,
): Promise<void> {
  while (!call.signal.aborted) {
    try {
      await sleep(intervalMs, undefined, { signal: call.signal });
    } catch {
      return; // the call has ended
    }
    const places = everyPlace(view);
    for (const place of places) queue.add(place);
    call.log.info("stale cleanup looks at every place", { places: places.size });
  }
}

export function everyPlace(view: View): ReadonlySet<PlaceKey> {
  const places = new Set<PlaceKey>();
  for (const workload of view.workloads.values()) for (const place of placesOf(view, workload)) places.add(place);
  for (const attachment of view.attachments.values()) places.add(placeOf(attachment));
  for (const pod of view.mountpointPods.values()) places.add(placeKey(pod));
  return places;
}
