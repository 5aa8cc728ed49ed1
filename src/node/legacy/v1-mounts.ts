/**
 * Mounts of the driver 1.x: systemd runs mount-s3 on the host, which serves the target directly. They stay unchanged until their
 * workload restarts. Their keys are in files in the plugin's directory (contract 1.12, 2.11).
 */
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { PublishIntent } from "../publish/publish-request.ts";

type Needed = Pick<NodeParts, "attachments">;

/** A workload in an attachment has no mount of 1.x, even if its source is unmounted: its keys must never be written to the disk. */
export function isV1Mount({ attachments }: Needed, mount: Mount, mounts: MountTable): boolean {
  const workload = mounts.workloadOf(mount);
  return (
    isOurs(mount) &&
    workload !== undefined &&
    mounts.podBehind(mount) === undefined &&
    attachments.isUnattached(workload)
  );
}

/** Renews the driver's keys. Keys of a volume's own Secret are in the environment of mount-s3 and cannot be renewed. */
export function refreshV1({ driverKeys, v1Files }: NodeParts, { workload, volumeId, keys }: PublishIntent): void {
  const known = keys === undefined ? driverKeys.known() : undefined;
  if (known !== undefined) v1Files.keep({ workload, volumeId }, known);
}

export const restartHint = "Delete the Pod: its successor gets a Mountpoint Pod.";

/** Removes credential files once, after the initial list of attachments: 2.x leaves such files for mounts that do not read them. */
export async function removeUnusedV1Files(call: Call, node: NodeParts): Promise<void> {
  await node.attachments.store.synced(call);
  const mounts = node.mounts();
  const v1 = mounts.all.filter((mount) => isV1Mount(node, mount, mounts));
  const users = new Set(v1.map((mount) => mounts.workloadOf(mount)));
  try {
    const removed = node.v1Files.removeUnless((workload) => users.has(workload));
    if (removed.length > 0) call.log.info("unused credential files removed", { removed });
  } catch (error) {
    // The node plugin works without this cleanup.
    call.log.info("unused credential files could not be removed", { error });
  }
}
