import type { Logger } from "../../runtime/log.ts";
import { describeError } from "../../runtime/log.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type MountCredentials, refreshCredentials, usesDriverCredentials } from "./credentials.ts";

/** Writes changed credentials of the driver to every mount that uses them, at once (MP-4). */
export function keepDriverCredentials(
  log: Logger,
  credentials: MountCredentials,
  mountpointPods: MountpointPods,
): Disposable {
  return credentials.driverCredentials.onChange(() => {
    // Without usable credentials running mounts keep their credentials: an invalid Secret must not break a working mount.
    const usable = credentials.driverCredentials.known() !== undefined;
    const users = [...mountpointPods.store.values()].filter(usesDriverCredentials);
    const failures = users.flatMap((pod) => tryRefresh(credentials, pod));
    log.info("the keys of the driver have changed", { usable, mountpointPods: users.length, failures });
  });
}

/** Returns the failure instead of throwing: a terminating Pod must not affect the others. The next republish retries. */
function tryRefresh(credentials: MountCredentials, pod: LocalMountpointPod): readonly string[] {
  try {
    refreshCredentials(credentials, pod, undefined);
    return [];
  } catch (error) {
    return [`${pod.name}: ${describeError(error)}`];
  }
}
