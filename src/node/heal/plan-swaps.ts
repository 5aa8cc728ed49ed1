/** Which mounts of a dead device are to be replaced in a mount namespace. Pure: the table in, places out. */
import { driverName } from "../../core/names.ts";
import { mountsByParent, type WholeMount } from "../../linux/mounts/mountinfo.ts";
import { isOurs } from "../mounts/mount-table.ts";

export type Swap = Pick<WholeMount, "id" | "mountPoint" | "root" | "options" | "propagation">;

export interface Swaps {
  readonly swaps: readonly Swap[];
  /** Places that cannot be healed. */
  readonly refusals: readonly Refusal[];
}

export interface Refusal {
  readonly mountPoint: string;
  readonly because: string;
}

export function countMounts({ swaps, refusals }: Swaps): number {
  return swaps.length + refusals.length;
}

/** In our own namespace: what kubelet gives to containers, now and later. The source has been mounted anew already. */
export function swapsHere(mounts: readonly WholeMount[], minor: number, kubeletDir: string): Swaps {
  return swapsAmong(mounts, (mount) => isOfDead(mount, minor) && mount.mountPoint.startsWith(`${kubeletDir}/pods/`));
}

/**
 * In a container's. A copy of kubelet's directory, as other node plugins and monitoring have it, is nobody's volume: if
 * it follows the host, it gets what changes there; if it does not, a living mount in it would only keep mount-s3 from ending.
 */
export function swapsInside(mounts: readonly WholeMount[], minor: number): Swaps {
  return swapsAmong(mounts, (mount) => isOfDead(mount, minor) && !kubeletPath.test(mount.mountPoint));
}

const kubeletPath = new RegExp(
  `/pods/[^/]+/(volumes/kubernetes\\.io~csi|volume-subpaths)/|/plugins/${driverName.replaceAll(".", "\\.")}/mnt/`,
);

/** Somebody else's file system may have got the number of one that is gone. */
export function isOfDead(mount: WholeMount, minor: number): boolean {
  return mount.major === 0 && mount.minor === minor && isOurs(mount);
}

/** Takes a time that is proportional to the table: a container decides how long that is. */
function swapsAmong(mounts: readonly WholeMount[], isMeant: (mount: WholeMount) => boolean): Swaps {
  const swaps: Swap[] = [];
  const refusals: Refusal[] = [];
  const byParent = mountsByParent(mounts);
  for (const mount of mounts.filter(isMeant)) {
    const above = byParent.get(mount.id) ?? [];
    // Covered at the same path, as publishing does without healing: who looks up the path does not meet it.
    if (above.some(({ mountPoint }) => mountPoint === mount.mountPoint)) continue;
    // To take it off would take them along, and no path leads to them through a dead mount.
    if (above.length === 0) swaps.push(mount);
    else refusals.push({ mountPoint: mount.mountPoint, because: holdsOthers(above) });
  }
  return { swaps, refusals };
}

/** Enough to find them. */
const namedMounts = 5;

function holdsOthers(above: readonly WholeMount[]): string {
  const names = above.slice(0, namedMounts).map(({ mountPoint }) => mountPoint);
  const others = above.length > namedMounts ? [`${above.length - namedMounts} more`] : [];
  return `holds other mounts (${[...names, ...others].join(", ")})`;
}
