/**
 * Mounts of the driver 1.x: systemd runs mount-s3 on the host, straight on the target. They stay as they are until their
 * workload restarts, and their keys are files in the plugin's directory (contract 1.12, 2.11).
 */
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { PublishIntent } from "../publish/publish-request.ts";

type Needed = Pick<NodeParts, "attachments">;

/** What an attachment names is an ordinary mount, even when its source was taken away: no key of it may reach the disk. */
export function isV1Mount({ attachments }: Needed, mount: Mount, mounts: MountTable): boolean {
  const workload = mounts.workloadOf(mount);
  return (
    isOurs(mount) &&
    workload !== undefined &&
    mounts.podBehind(mount) === undefined &&
    attachments.isUnattached(workload)
  );
}

/** Keys of a volume's own Secret are in the environment of such a mount-s3, where nobody can renew them. */
export function refreshV1({ driverKeys, v1Files }: NodeParts, { workload, volumeId, keys }: PublishIntent): void {
  const known = keys === undefined ? driverKeys.known() : undefined;
  if (known !== undefined) v1Files.keep({ workload, volumeId }, known);
}

export const restartHint = "Delete the Pod: its successor gets a Mountpoint Pod.";

/** Once, when everything about the node is known: 2.x leaves such files behind also for mounts that do not read them. */
export async function removeUnusedV1Files(call: Call, node: NodeParts): Promise<void> {
  await node.attachments.store.synced(call);
  const mounts = node.mounts();
  const v1 = mounts.all.filter((mount) => isV1Mount(node, mount, mounts));
  const users = new Set(v1.map((mount) => mounts.workloadOf(mount)));
  try {
    const removed = node.v1Files.removeUnless((workload) => users.has(workload));
    if (removed.length > 0) call.log.info("files with keys that nobody reads are removed", { removed });
  } catch (error) {
    // Not worth a node without a driver.
    call.log.info("files with keys that nobody reads could not be removed", { error });
  }
}
