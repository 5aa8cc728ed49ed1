import type { Logger } from "../../runtime/log.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type MountCredentials, refreshKeys, usesDriverKeys } from "./credentials.ts";

/** Writes changed keys of the driver to every mount that uses them, at once (MP-4). */
export function keepDriverKeys(log: Logger, credentials: MountCredentials, mountpointPods: MountpointPods): Disposable {
  return credentials.driverKeys.onChange(() => {
    // Without usable keys running mounts keep their keys: an invalid Secret must not break a working mount.
    const usable = credentials.driverKeys.known() !== undefined;
    const users = [...mountpointPods.store.values()].filter(usesDriverKeys);
    const failures = users.flatMap((pod) => tryRefresh(credentials, pod));
    log.info("the keys of the driver have changed", { usable, mountpointPods: users.length, failures });
  });
}

/** Returns the failure instead of throwing: a terminating Pod must not affect the others. The next republish retries. */
function tryRefresh(credentials: MountCredentials, pod: LocalMountpointPod): readonly string[] {
  try {
    refreshKeys(credentials, pod, undefined);
    return [];
  } catch (error) {
    return [`${pod.name}: ${describeError(error)}`];
  }
}
