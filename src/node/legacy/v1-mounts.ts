/**
 * Mounts of the driver 1.x: systemd runs mount-s3 on the host, which serves the target directly. They stay unchanged until their
 * workload restarts. Their credentials are in files in the plugin's directory (contract 1.12, 2.11).
 */
import { defaultStore } from "../../core/stores/store.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import type { Attachments } from "../cluster/attachments.ts";
import type { DriverCredentials } from "../credentials/driver-credentials.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";
import type { NodeMounts } from "../mounts/node-mounts.ts";
import type { PublishIntent } from "../publish/publish-request.ts";
import type { V1Files } from "./v1-files.ts";

export interface V1Mounts {
  readonly attachments: Attachments;
  readonly driverCredentials: DriverCredentials;
  readonly files: V1Files;
}

/**
 * A workload in an attachment has no mount of 1.x, even if its source is unmounted: its credentials must never be written to the
 * disk.
 */
export function isV1Mount({ attachments }: Pick<V1Mounts, "attachments">, mount: Mount, mounts: MountTable): boolean {
  const workload = mounts.workloadOf(mount);
  return (
    isOurs(mount) &&
    workload !== undefined &&
    mounts.podBehind(mount) === undefined &&
    attachments.isUnattached(workload)
  );
}

/** Renews the driver's credentials. Credentials of a volume's own Secret are in the environment of mount-s3 and cannot be renewed. */
export function refreshV1({ driverCredentials, files }: V1Mounts, { workload, volumeId, access }: PublishIntent): void {
  // 1.x knew one store.
  const isDrivers = access.source === "driver" && access.store === defaultStore;
  const known = isDrivers ? driverCredentials.known() : undefined;
  if (known !== undefined) files.keep({ workload, volumeId }, known);
}

export const restartHint = "Delete the Pod: its successor gets a Mountpoint Pod.";

/** Removes credential files once, after the initial list of attachments: 2.x leaves such files for mounts that do not read them. */
export async function removeUnusedV1Files(call: Call, v1: V1Mounts, { table }: NodeMounts): Promise<void> {
  await v1.attachments.store.synced(call);
  const mounts = table();
  const mountsOfV1 = mounts.all.filter((mount) => isV1Mount(v1, mount, mounts));
  const users = new Set(mountsOfV1.map((mount) => mounts.workloadOf(mount)));
  try {
    const removed = v1.files.removeUnless((workload) => users.has(workload));
    if (removed.length > 0) call.log.info("unused credential files removed", { removed });
  } catch (error) {
    // The node plugin works without this cleanup.
    call.log.info("unused credential files could not be removed", { error });
  }
}
