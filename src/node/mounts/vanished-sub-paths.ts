/**
 * LC-25: kubelet bind-mounts a subPath at `pods/<uid>/volume-subpaths/…`. When the directory behind the bind mount is deleted, stat
 * of the mount point returns ENOENT. kubelet then considers the bind mount gone, does not unmount it, and cannot remove the
 * mount point (EBUSY): the Pod stays Terminating, and its volumes stay mounted. The node plugin detaches such a bind mount.
 */
import type { PodUid } from "../../core/names.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { Attachments } from "../cluster/attachments.ts";
import type { Kernel } from "./kernel.ts";
import { lookRegularly } from "./look-regularly.ts";
import { isOurs, type MountTable } from "./mount-table.ts";

interface Parts {
  readonly mounts: {
    readonly kubeletDir: string;
    readonly kernel: Pick<Kernel, "unmount" | "podsWithProcesses" | "hasVanished">;
    readonly table: () => MountTable;
  };
  readonly attachments: Pick<Attachments, "isUnattached">;
}

/** Runs until the call ends. */
export async function detachVanishedSubPaths(call: Call, node: Parts, progress: Pulses): Promise<void> {
  const asked = new Set<PodUid>();
  await lookRegularly(call, progress, "vanished subPaths", () => {
    for (const [workload, binds] of orphanedSubPaths(node)) {
      // One request at a time per Pod, so that a silent server blocks only one thread.
      if (asked.has(workload)) continue;
      asked.add(workload);
      const work = detachVanished(call, node, workload, binds).finally(() => asked.delete(workload));
      inBackground(call.log, "looking for vanished subPaths of a Pod", work);
    }
  });
}

/**
 * SubPaths of Pods without containers, by Pod. The reconciler removes a workload from its attachment once kubelet reports that its
 * containers have stopped or that the Pod is gone. Only then are the processes of the node read, all in one pass.
 */
export function orphanedSubPaths({ mounts, attachments }: Parts): ReadonlyMap<PodUid, readonly Mount[]> {
  const { kubeletDir, kernel } = mounts;
  const table = mounts.table();
  const unattached = table.all.flatMap((mount) => {
    const workload = isOurs(mount) ? table.workloadOf(mount) : undefined;
    const isSubPath = mount.mountPoint.startsWith(`${kubeletDir}/pods/${workload}/volume-subpaths/`);
    return workload !== undefined && isSubPath && attachments.isUnattached(workload) ? [{ mount, workload }] : [];
  });
  const running = unattached.length === 0 ? undefined : kernel.podsWithProcesses();
  const orphaned = unattached.filter(({ workload }) => !running?.has(workload));
  const byPod = Map.groupBy(orphaned, ({ workload }) => workload);
  return new Map([...byPod].map(([workload, binds]) => [workload, binds.map(({ mount }) => mount)]));
}

/** Detaches the vanished bind mounts; kubelet unmounts the others. Synchronous from the last check to the unmounts. */
export async function detachVanished(
  call: Call,
  node: Parts,
  workload: PodUid,
  binds: readonly Mount[],
): Promise<void> {
  const vanished = new Set<number>();
  // One after the other: a Pod controls the number of its subPaths, and each request takes a thread.
  for (const { id, mountPoint } of binds) if (await node.mounts.kernel.hasVanished(mountPoint)) vanished.add(id);
  if (vanished.size === 0) return;
  const still = orphanedSubPaths(node).get(workload) ?? [];
  for (const { id, mountPoint } of still.filter((mount) => vanished.has(mount.id))) {
    // A mount on top of this one would be unmounted instead.
    if (node.mounts.table().at(mountPoint)?.id !== id || !node.mounts.kernel.unmount(mountPoint)) continue;
    call.log.info("detached a subPath whose directory was deleted", { workload, mountPoint });
  }
}
