/**
 * LC-25. kubelet binds a subPath to `pods/<uid>/volume-subpaths/…`. When the directory behind that bind is deleted, a
 * stat of the mount point answers ENOENT, so kubelet takes the bind for gone, does not unmount it, and then cannot remove
 * the mount point (EBUSY): the Pod stays Terminating, and its volumes mounted. The node plugin detaches such a bind.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PodUid } from "../core/names.ts";
import { TroubleLog } from "../kube/trouble-log.ts";
import type { Mount } from "../linux/mountinfo.ts";
import type { Call } from "../runtime/call.ts";
import type { Pulses } from "../runtime/progress.ts";
import { isOurs, workloadAt } from "./mount-table.ts";
import type { NodeParts } from "./node-parts.ts";

/** Nothing reports that the root of a mount was unlinked. Reading the mount table takes less than a millisecond. */
const lookEveryMs = 5000;

interface Parts {
  readonly kernel: Pick<NodeParts["kernel"], "mounts" | "unmount" | "hasProcesses">;
  readonly attachments: Pick<NodeParts["attachments"], "isUnattached">;
  readonly config: Pick<NodeParts["config"], "kubeletDir">;
}

/** Ends with the call. */
export async function detachVanishedSubPaths(call: Call, node: Parts, progress: Pulses): Promise<void> {
  const turned = progress.pulse("looking for vanished subPaths");
  const troubles = new TroubleLog();
  while (!call.signal.aborted) {
    turned();
    try {
      detachVanished(call, node);
      troubles.over("subPaths");
    } catch (error) {
      troubles.met(call.log, "subPaths", "a vanished subPath could not be detached", { error });
    }
    // The end of the program is no failure.
    await delay(lookEveryMs, undefined, { signal: call.signal, ref: false }).catch(() => undefined);
  }
}

/** One look. A container that still has the bind keeps it: an open file in it can be read and written to the end. */
export function detachVanished(call: Call, node: Parts): void {
  for (const { mount, workload } of vanishedSubPaths(node.kernel.mounts(), node.config.kubeletDir)) {
    if (mayRun(node, workload)) continue;
    if (node.kernel.unmount(mount.mountPoint)) {
      call.log.info("detached a subPath whose directory was deleted", { workload, mountPoint: mount.mountPoint });
    }
  }
}

interface VanishedSubPath {
  readonly mount: Mount;
  readonly workload: PodUid;
}

/** The kernel appends this to the root of a mount that was unlinked; no file name contains a slash. */
const unlinked = "//deleted";

export function vanishedSubPaths(mounts: readonly Mount[], kubeletDir: string): readonly VanishedSubPath[] {
  return mounts.flatMap((mount) => {
    if (!isOurs(mount) || !mount.root.endsWith(unlinked)) return [];
    const workload = workloadAt(kubeletDir, mount);
    const isSubPath = mount.mountPoint.startsWith(`${kubeletDir}/pods/${workload}/volume-subpaths/`);
    return workload !== undefined && isSubPath ? [{ mount, workload }] : [];
  });
}

/** Without the host's /proc the reconciler decides: it takes a workload off once its containers have stopped. */
function mayRun({ kernel, attachments }: Parts, workload: PodUid): boolean {
  return kernel.hasProcesses(workload) ?? !attachments.isUnattached(workload);
}
