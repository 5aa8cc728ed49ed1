/** Decides which mounts of a dead device are replaced in a mount namespace. Pure: depends on the mount table only. */

import { driverName } from "../../core/names.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import { mountsByParent, type WholeMount } from "../../linux/mounts/mountinfo.ts";
import { isOurs } from "../mounts/mount-table.ts";

export type Swap = Pick<WholeMount, "id" | "mountPoint" | "root" | "options" | "propagation">;

export interface Swaps {
  readonly swaps: readonly Swap[];
  /** Mounts that cannot be healed. */
  readonly refusals: readonly Refusal[];
}

export interface Refusal {
  readonly mountPoint: string;
  readonly because: string;
}

export function countMounts({ swaps, refusals }: Swaps): number {
  return swaps.length + refusals.length;
}

/** In the node plugin's own namespace: targets and sub-paths, which kubelet gives to containers. The source is mounted anew already. */
export function swapsHere(mounts: readonly WholeMount[], deviceId: DeviceId, kubeletDir: string): Swaps {
  return swapsAmong(mounts, (mount) => isOfDead(mount, deviceId) && mount.mountPoint.startsWith(`${kubeletDir}/pods/`));
}

/**
 * In a container's namespace. Copies of kubelet's directory, as in other node plugins and in monitoring, are skipped. A copy with
 * propagation receives the changes from the host; in a copy without, a living mount would only keep mount-s3 from exiting.
 */
export function swapsInside(mounts: readonly WholeMount[], deviceId: DeviceId): Swaps {
  return swapsAmong(mounts, (mount) => isOfDead(mount, deviceId) && !kubeletPath.test(mount.mountPoint));
}

const kubeletPath = new RegExp(
  `/pods/[^/]+/(volumes/kubernetes\\.io~csi|volume-subpaths)/|/plugins/${driverName.replaceAll(".", "\\.")}/mnt/`,
);

/** The kernel may have given the minor number of a file system that has ended to a foreign one. */
export function isOfDead(mount: WholeMount, deviceId: DeviceId): boolean {
  return mount.deviceId === deviceId && isOurs(mount);
}

/** Linear in the size of the table, which a container controls. */
function swapsAmong(mounts: readonly WholeMount[], isDead: (mount: WholeMount) => boolean): Swaps {
  const swaps: Swap[] = [];
  const refusals: Refusal[] = [];
  const byParent = mountsByParent(mounts);
  for (const mount of mounts.filter(isDead)) {
    const above = byParent.get(mount.id) ?? [];
    // A mount at the same path covers this one, as after a publish without healing: the path does not lead to the dead mount.
    if (above.some(({ mountPoint }) => mountPoint === mount.mountPoint)) continue;
    // Detaching the mount would detach the mounts on it, too, and no path leads to them through a dead mount.
    if (above.length === 0) swaps.push(mount);
    else refusals.push({ mountPoint: mount.mountPoint, because: describeMountsOn(above) });
  }
  return { swaps, refusals };
}

/** Number of mounts that an error message names. */
const namedMounts = 5;

function describeMountsOn(above: readonly WholeMount[]): string {
  const names = above.slice(0, namedMounts).map(({ mountPoint }) => mountPoint);
  const others = above.length > namedMounts ? [`${above.length - namedMounts} more`] : [];
  return `holds other mounts (${[...names, ...others].join(", ")})`;
}
