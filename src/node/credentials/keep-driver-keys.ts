import type { Logger } from "../../runtime/log.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import type { NodeParts } from "../node-parts.ts";
import { refreshKeys, usesDriverKeys } from "./credentials.ts";

type Needed = Pick<NodeParts, "comm" | "driverKeys" | "mountpointPods">;

/** Writes changed keys of the driver to every mount that uses them, at once (MP-4). */
export function keepDriverKeys(log: Logger, node: Needed): Disposable {
  return node.driverKeys.onChange(() => {
    // Without usable keys running mounts keep their keys: an invalid Secret must not break a working mount.
    const usable = node.driverKeys.known() !== undefined;
    const users = [...node.mountpointPods.store.values()].filter(usesDriverKeys);
    const failures = users.flatMap((pod) => tryRefresh(node, pod));
    log.info("the keys of the driver have changed", { usable, mountpointPods: users.length, failures });
  });
}

/** Returns the failure instead of throwing: a terminating Pod must not affect the others. The next republish retries. */
function tryRefresh(node: Needed, pod: LocalMountpointPod): readonly string[] {
  try {
    refreshKeys(node, pod, undefined);
    return [];
  } catch (error) {
    return [`${pod.name}: ${describeError(error)}`];
  }
}
