import type { PodName } from "../../core/names.ts";
import { parseTargetPath } from "../domain/target-path.ts";
import type { NodeParts } from "../node-parts.ts";
import type { MountRecord } from "./mount-records.ts";

type Needed = Pick<NodeParts, "config" | "mounts" | "records" | "attachments">;

/**
 * What the workloads that a Mountpoint Pod serves, or is to serve from now on, were mounted with; undefined if none of them
 * has the volume now. They go on running when their mount-s3 dies: another prefix would move them to other data.
 */
export function recordOfRunning(
  { config, mounts, records, attachments }: Needed,
  name: PodName,
): MountRecord | undefined {
  const published = mounts().publishedTargets;
  const isRunning = ({ target, holder }: { readonly target: string; readonly holder: PodName }) =>
    published.has(target) && (attachments.holderNow(parseTargetPath(config.kubeletDir, target)) ?? holder) === name;
  return records.uses.filter(isRunning).flatMap(({ holder }) => records.get(holder) ?? [])[0];
}
