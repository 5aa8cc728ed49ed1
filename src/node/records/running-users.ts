import type { PodName } from "../../core/names.ts";
import type { Attachments } from "../cluster/attachments.ts";
import { parseTargetPath } from "../domain/target-path.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { MountRecord, MountRecords } from "./mount-records.ts";

interface Needed {
  readonly mounts: Pick<NodeMounts, "kubeletDir" | "table">;
  readonly records: MountRecords;
  readonly attachments: Attachments;
}

/**
 * The record with which the running workloads of a Mountpoint Pod were mounted; undefined if none of them has the volume mounted.
 * Workloads keep running when their mount-s3 dies, so a mount with another prefix would show them other data.
 */
export function recordOfRunning({ mounts, records, attachments }: Needed, name: PodName): MountRecord | undefined {
  const published = mounts.table().publishedTargets;
  const isRunning = ({ target, holder }: { readonly target: string; readonly holder: PodName }) =>
    published.has(target) && (attachments.holderNow(parseTargetPath(mounts.kubeletDir, target)) ?? holder) === name;
  return records.uses.filter(isRunning).flatMap(({ holder }) => records.get(holder) ?? [])[0];
}
