/** Registers the driver with kubelet, in place of the node-driver-registrar sidecar of 2.x. */
import { join } from "node:path/posix";
import { driverName } from "../core/names.ts";
import type { Call } from "../runtime/call.ts";
import { RegistrationService } from "./gen/pluginregistration.ts";
import { serve } from "./server.ts";
import { service } from "./service.ts";

interface Registration {
  /** kubelet's `plugins_registry`, as this process sees it. */
  readonly registryDir: string;
  /** The CSI socket as kubelet sees it on the host. It must be served already: kubelet calls it at once. */
  readonly csiSocket: string;
  /** Called each time kubelet has registered the driver. The CSINode object lists the driver then. */
  readonly onRegistered: () => void;
}

/**
 * Serves the registration socket until it is disposed of, because a kubelet that restarts asks again. kubelet also asks again, with
 * growing pauses, after a failure, so a refusal is logged and needs no restart of the driver.
 *
 * The caller must dispose of it before the CSI server. kubelet then unregisters the driver within a second, while the driver could
 * not serve anyway, and registers its successor as soon as the socket appears. If the file stayed, kubelet would see an updated
 * socket and unregister the driver while the successor already serves, for one more round of its loop. The CSINode object is
 * rewritten twice in both cases (kubelet's plugin reconciler compares the identity of sockets).
 */
export function serveRegistration(call: Call, registration: Registration): Promise<AsyncDisposable> {
  const { registryDir, csiSocket, onRegistered } = registration;
  const socket = join(registryDir, `${driverName}-reg.sock`);
  const answers = service(RegistrationService, {
    getInfo: async () => ({
      type: "CSIPlugin",
      name: driverName,
      endpoint: csiSocket,
      supportedVersions: ["1.0.0"], // of CSI; kubelet accepts every 1.x
    }),
    notifyRegistrationStatus: async (_call, { pluginRegistered, error }) => {
      if (pluginRegistered) {
        call.log.info("registered with kubelet");
        onRegistered();
      } else {
        call.log.error("kubelet refused the registration and will ask again", { error });
      }
      return {};
    },
  });
  return serve(call, `unix:${socket}`, [answers]);
}
