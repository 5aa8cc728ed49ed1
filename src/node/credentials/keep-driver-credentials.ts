import { driverIdentity } from "../../core/identity.ts";
import type { Logger } from "../../runtime/log.ts";
import type { MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type MountCredentials, tryRefresh } from "./credentials.ts";

/** Writes changed credentials of the driver to every mount that uses them, at once (MP-4). */
export function keepDriverCredentials(
  log: Logger,
  credentials: MountCredentials,
  mountpointPods: MountpointPods,
): Disposable {
  return credentials.drivers.onChange((store) => {
    // Without usable credentials running mounts keep their credentials: an invalid Secret must not break a working mount.
    const usable = credentials.drivers.of(store).known() !== undefined;
    const users = [...mountpointPods.store.values()].filter(({ identity }) => identity === driverIdentity(store));
    const failures = users.flatMap((pod) => tryRefresh(credentials, pod, { source: "driver", store })?.text ?? []);
    log.info("the keys of the driver have changed", { store, usable, mountpointPods: users.length, failures });
  });
}
