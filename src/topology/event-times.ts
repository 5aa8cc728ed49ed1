/** An event stands for all its repetitions. */
import type { EventObject } from "./objects.ts";

/** When it happened last, RFC 3339. */
export function timeOf(event: EventObject): string {
  return event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
}

export function countOf({ series, count }: EventObject): number {
  return series?.count ?? count ?? 1;
}
