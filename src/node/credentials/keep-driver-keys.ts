import type { Logger } from "../../runtime/log.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import type { NodeParts } from "../node-parts.ts";
import { refreshKeys, usesDriverKeys } from "./credentials.ts";

type Needed = Pick<NodeParts, "comm" | "driverKeys" | "mountpointPods">;

/** Brings a changed key of the driver to every mount that uses it, at once (MP-4). */
export function keepDriverKeys(log: Logger, node: Needed): Disposable {
  return node.driverKeys.onChange(() => {
    // Without usable keys running mounts keep those they have: a wrong Secret must not take a working mount down.
    const usable = node.driverKeys.known() !== undefined;
    const users = [...node.mountpointPods.store.values()].filter(usesDriverKeys);
    const failures = users.flatMap((pod) => refreshed(node, pod));
    log.info("the keys of the driver were read anew", { usable, mountpointPods: users.length, failures });
  });
}

/** One Pod that is just going away must not keep the others from their keys; the next republish repairs the rest. */
function refreshed(node: Needed, pod: LocalMountpointPod): readonly string[] {
  try {
    refreshKeys(node, pod, undefined);
    return [];
  } catch (error) {
    return [`${pod.name}: ${describeError(error)}`];
  }
}
