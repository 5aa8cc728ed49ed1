/** The CSI identity service: who we are, what we serve, and whether we can serve now. */
import { driverName } from "../core/names.ts";
import { IdentityService, PluginCapability_Service_Type } from "./gen/csi.ts";
import { type Service, service } from "./service.ts";

/** Asked by every probe, so it only looks at what is known already and never waits. */
export type Readiness = () => { readonly ready: true } | { readonly ready: false; readonly because: string };

interface Identity {
  readonly version: string;
  readonly readiness: Readiness;
  /** The provisioner sidecar creates no volume for a driver that does not report this capability. */
  readonly servesController: boolean;
}

export function identityService({ version, readiness, servesController }: Identity): Service {
  const capabilities = servesController ? [serving(PluginCapability_Service_Type.CONTROLLER_SERVICE)] : [];
  return service(IdentityService, {
    getPluginInfo: async () => ({ name: driverName, vendorVersion: version, manifest: {} }),
    getPluginCapabilities: async () => ({ capabilities }),
    // "Not ready" is an answer, not an error: an error would mean that we are broken.
    probe: async () => ({ ready: readiness().ready }),
  });
}

function serving(type: PluginCapability_Service_Type) {
  return { type: { $case: "service", value: { type } } } as const;
}
