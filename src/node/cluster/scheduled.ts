import { DriverError } from "../../core/errors.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import type { Cluster } from "./cluster.ts";
import type { LocalMountpointPod } from "./mountpoint-pods.ts";

/**
 * Waits until the scheduler has bound the Mountpoint Pod to this node. An unschedulable Pod is not visible to the node plugin, whose
 * watch selects Pods by node name. The controller reports the reason in the attachment, so the wait fails at once (MP-10).
 */
export async function waitUntilScheduled(
  call: Call,
  { attachments, mountpointPods }: Pick<Cluster, "attachments" | "mountpointPods">,
  workload: PodUid,
  name: PodName,
): Promise<LocalMountpointPod> {
  const here = mountpointPods.get(name);
  if (here !== undefined) return here;
  const over = new AbortController();
  const waiting = { log: call.log, signal: AbortSignal.any([call.signal, over.signal]) };
  const known = mountpointPods.waitUntilKnown(call, name);
  const unschedulable = attachments.waitUntilUnschedulable(waiting, workload, name).then(
    (reason) => {
      throw new DriverError("notReady", reason);
    },
    () => known, // whose error names what is missing
  );
  try {
    return await Promise.race([known, unschedulable]);
  } finally {
    over.abort();
  }
}
