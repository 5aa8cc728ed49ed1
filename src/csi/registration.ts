/** Tells kubelet that the driver is here: what the registrar sidecar of 2.x did, without its 19 MB. */
import { join } from "node:path/posix";
import { driverName } from "../core/names.ts";
import type { Call } from "../runtime/call.ts";
import { RegistrationService } from "./gen/pluginregistration.ts";
import { serve } from "./server.ts";
import { service } from "./service.ts";

interface Registration {
  /** kubelet's `plugins_registry`, as this process sees it. */
  readonly registryDir: string;
  /** The CSI socket as kubelet sees it on the host. It must be served already: kubelet asks it at once. */
  readonly csiSocket: string;
  /** Told each time kubelet has taken the driver on its list, which is also when its CSINode object says so. */
  readonly onRegistered: () => void;
}

/**
 * The socket stays for the whole life of the driver, because a kubelet that restarts asks again. kubelet also asks
 * again, with growing pauses, after a failure: so a refusal is told and needs no restart of ours.
 *
 * At the end the socket goes first. kubelet then takes the driver off its list within a second, while it could not
 * serve anyway, and puts a successor on it as soon as its socket appears. If the file stayed, kubelet would see an
 * updated socket and take the driver off the list when the successor already serves, for one more round of its loop;
 * the CSINode object is rewritten twice in both cases (kubelet's plugin reconciler compares the identity of sockets).
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
