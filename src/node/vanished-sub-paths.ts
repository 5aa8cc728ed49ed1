/**
 * LC-25. kubelet binds a subPath to `pods/<uid>/volume-subpaths/…`. When the directory behind that bind is deleted, a
 * stat of the mount point answers ENOENT, so kubelet takes the bind for gone, does not unmount it, and then cannot remove
 * the mount point (EBUSY): the Pod stays Terminating, and its volumes mounted. The node plugin detaches such a bind.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PodUid } from "../core/names.ts";
import { TroubleLog } from "../kube/trouble-log.ts";
import { type Mount, mountAt } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import { inBackground } from "../runtime/in-background.ts";
import type { Pulses } from "../runtime/progress.ts";
import { isOurs, workloadAt } from "./mount-table.ts";
import type { NodeParts } from "./node-parts.ts";

/** Reading the mount table takes less than a millisecond; more is done only for Pods that have ended. */
const lookEveryMs = 5000;

interface Parts {
  readonly kernel: Pick<NodeParts["kernel"], "mounts" | "unmount" | "hasProcesses" | "hasVanished">;
  readonly attachments: Pick<NodeParts["attachments"], "isUnattached">;
  readonly config: Pick<NodeParts["config"], "kubeletDir">;
}

/** Ends with the call. */
export async function detachVanishedSubPaths(call: Call, node: Parts, progress: Pulses): Promise<void> {
  const turned = progress.pulse("looking for vanished subPaths");
  const troubles = new TroubleLog();
  const asked = new Set<number>();
  while (!call.signal.aborted) {
    turned();
    try {
      for (const bind of leftSubPaths(node)) {
        // A server that does not answer is asked once.
        if (asked.has(bind.mount.id)) continue;
        asked.add(bind.mount.id);
        const work = detachIfVanished(call, node, bind).finally(() => asked.delete(bind.mount.id));
        inBackground(call.log, "looking for a vanished subPath", work);
      }
      troubles.over("subPaths");
    } catch (error) {
      troubles.met(call.log, "subPaths", "could not look for vanished subPaths", { error });
    }
    // The end of the program is no failure.
    await delay(lookEveryMs, undefined, { signal: call.signal, ref: false }).catch(() => undefined);
  }
}

export interface SubPath {
  readonly mount: Mount;
  readonly workload: PodUid;
}

/**
 * SubPaths of Pods without a container. The reconciler takes a workload off once kubelet reports that its containers have
 * stopped, or that the Pod is gone; only then are the node's processes looked at, which is more work.
 */
export function leftSubPaths({ kernel, attachments, config: { kubeletDir } }: Parts): readonly SubPath[] {
  const binds = kernel.mounts().flatMap((mount) => {
    const workload = isOurs(mount) ? workloadAt(kubeletDir, mount) : undefined;
    const isSubPath = mount.mountPoint.startsWith(`${kubeletDir}/pods/${workload}/volume-subpaths/`);
    return workload !== undefined && isSubPath ? [{ mount, workload }] : [];
  });
  const hasEnded = (workload: PodUid) => attachments.isUnattached(workload) && kernel.hasProcesses(workload) !== true;
  const ended = new Set([...new Set(binds.map(({ workload }) => workload))].filter(hasEnded));
  return binds.filter(({ workload }) => ended.has(workload));
}

/** kubelet unmounts the others itself. Nothing happens between the last look and the unmount. */
export async function detachIfVanished(call: Call, node: Parts, { mount, workload }: SubPath): Promise<void> {
  const { mountPoint, id } = mount;
  if (!(await node.kernel.hasVanished(mountPoint))) return;
  const isStill = mountAt(node.kernel.mounts(), mountPoint)?.id === id;
  if (isStill && leftSubPaths(node).some((bind) => bind.mount.id === id) && node.kernel.unmount(mountPoint)) {
    call.log.info("detached a subPath whose directory was deleted", { workload, mountPoint });
  }
}
