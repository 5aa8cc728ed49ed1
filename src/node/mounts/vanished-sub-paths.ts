/**
 * LC-25. kubelet binds a subPath to `pods/<uid>/volume-subpaths/…`. When the directory behind that bind is deleted, a
 * stat of the mount point answers ENOENT, so kubelet takes the bind for gone, does not unmount it, and then cannot remove
 * the mount point (EBUSY): the Pod stays Terminating, and its volumes mounted. The node plugin detaches such a bind.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PodUid } from "../../core/names.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { NodeParts } from "../node-parts.ts";
import { isOurs } from "./mount-table.ts";

/** Reading the mount table takes less than a millisecond; more is done only for Pods that have ended. */
const lookEveryMs = 5000;

interface Parts {
  readonly kernel: Pick<NodeParts["kernel"], "unmount" | "podsWithProcesses" | "hasVanished">;
  readonly mounts: NodeParts["mounts"];
  readonly attachments: Pick<NodeParts["attachments"], "isUnattached">;
  readonly config: Pick<NodeParts["config"], "kubeletDir">;
}

/** Ends with the call. */
export async function detachVanishedSubPaths(call: Call, node: Parts, progress: Pulses): Promise<void> {
  const turned = progress.pulse("looking for vanished subPaths");
  const problems = new ProblemLog();
  const asked = new Set<PodUid>();
  while (!call.signal.aborted) {
    turned();
    try {
      for (const [workload, binds] of orphanedSubPaths(node)) {
        // A server that does not answer is asked once, and keeps one thread.
        if (asked.has(workload)) continue;
        asked.add(workload);
        const work = detachVanished(call, node, workload, binds).finally(() => asked.delete(workload));
        inBackground(call.log, "looking for vanished subPaths of a Pod", work);
      }
      problems.resolve("subPaths");
    } catch (error) {
      problems.report(call.log, "subPaths", "could not look for vanished subPaths", { error });
    }
    // The end of the program is no failure.
    await delay(lookEveryMs, undefined, { signal: call.signal, ref: false }).catch(() => undefined);
  }
}

/**
 * SubPaths of Pods without a container, by Pod. The reconciler takes a workload off once kubelet reports that its containers
 * have stopped, or that the Pod is gone; only then are the node's processes looked at, all of them in one pass.
 */
export function orphanedSubPaths({
  kernel,
  mounts,
  attachments,
  config: { kubeletDir },
}: Parts): ReadonlyMap<PodUid, readonly Mount[]> {
  const table = mounts();
  const unattached = table.all.flatMap((mount) => {
    const workload = isOurs(mount) ? table.workloadOf(mount) : undefined;
    const isSubPath = mount.mountPoint.startsWith(`${kubeletDir}/pods/${workload}/volume-subpaths/`);
    return workload !== undefined && isSubPath && attachments.isUnattached(workload) ? [{ mount, workload }] : [];
  });
  const running = unattached.length === 0 ? undefined : kernel.podsWithProcesses();
  const left = unattached.filter(({ workload }) => !running?.has(workload));
  const byPod = Map.groupBy(left, ({ workload }) => workload);
  return new Map([...byPod].map(([workload, binds]) => [workload, binds.map(({ mount }) => mount)]));
}

/** kubelet unmounts the others itself. Nothing happens between the last look and the unmounts. */
export async function detachVanished(
  call: Call,
  node: Parts,
  workload: PodUid,
  binds: readonly Mount[],
): Promise<void> {
  const vanished = new Set<number>();
  // One after the other: a Pod chooses how many it has, and each question takes a thread.
  for (const { id, mountPoint } of binds) if (await node.kernel.hasVanished(mountPoint)) vanished.add(id);
  if (vanished.size === 0) return;
  const still = orphanedSubPaths(node).get(workload) ?? [];
  for (const { id, mountPoint } of still.filter((mount) => vanished.has(mount.id))) {
    // A mount that lies on it would be taken off in its place.
    if (node.mounts().at(mountPoint)?.id !== id || !node.kernel.unmount(mountPoint)) continue;
    call.log.info("detached a subPath whose directory was deleted", { workload, mountPoint });
  }
}
