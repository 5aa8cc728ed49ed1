import type { ReportedSource } from "../../core/attachment-status.ts";

/**
 * Whether the node plugin reports a mount of the source, or a bind mount of it. It may know of the mount before kubelet reports that the
 * container has started. `source`: undefined where no node plugin reports.
 */
export function isMounted(source: ReportedSource | undefined): boolean {
  return source?.inUse === true || (source?.health ?? "absent") !== "absent";
}
