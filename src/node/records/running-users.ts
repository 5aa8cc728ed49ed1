import type { PodName } from "../../core/names.ts";
import { parseTargetPath } from "../domain/target-path.ts";
import type { NodeParts } from "../node-parts.ts";
import type { MountRecord } from "./mount-records.ts";

type Needed = Pick<NodeParts, "config" | "mounts" | "records" | "attachments">;

/**
 * The record with which the running workloads of a Mountpoint Pod were mounted; undefined if none of them has the volume mounted.
 * Workloads keep running when their mount-s3 dies, so a mount with another prefix would show them other data.
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
