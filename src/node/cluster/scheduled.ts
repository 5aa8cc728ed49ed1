import { DriverError } from "../../core/errors.ts";
import type { PodName, PodUid } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import type { NodeParts } from "../node-parts.ts";
import type { LocalMountpointPod } from "./mountpoint-pods.ts";

type Needed = Pick<NodeParts, "attachments" | "mountpointPods">;

/**
 * The Mountpoint Pod, once the scheduler has put it on this node. Where it found no place we cannot see the Pod; the
 * controller can, and says why in the attachment, so nobody waits for the end of a limit to be told (MP-10).
 */
export async function waitUntilScheduled(
  call: Call,
  node: Needed,
  workload: PodUid,
  name: PodName,
): Promise<LocalMountpointPod> {
  const { attachments, mountpointPods } = node;
  const here = mountpointPods.get(name);
  if (here !== undefined) return here;
  const over = new AbortController();
  const until = { log: call.log, signal: AbortSignal.any([call.signal, over.signal]) };
  const known = mountpointPods.waitUntilKnown(call, name);
  const refused = attachments.waitUntilUnschedulable(until, workload, name).then(
    (reason) => {
      throw new DriverError("notReady", reason);
    },
    () => known, // which tells better what was missing
  );
  try {
    return await Promise.race([known, refused]);
  } finally {
    over.abort();
  }
}
