/** The CSI identity service: name, version, capabilities and readiness of the driver. */
import { driverName } from "../core/names.ts";
import { IdentityService, PluginCapability_Service_Type } from "./gen/csi.ts";
import { type Service, service } from "./service.ts";

/** Called for every probe, so it must answer from memory and never wait. */
export type Readiness = () => { readonly ready: true } | { readonly ready: false; readonly because: string };

interface Identity {
  readonly version: string;
  readonly readiness: Readiness;
  /** The provisioner sidecar creates no volume for a driver that does not report this capability. */
  readonly servesController: boolean;
}

/** Answers Probe with `ready: false` while the driver starts; sidecars then wait. */
export function identityService({ version, readiness, servesController }: Identity): Service {
  const capabilities = servesController ? [serving(PluginCapability_Service_Type.CONTROLLER_SERVICE)] : [];
  return service(IdentityService, {
    getPluginInfo: async () => ({ name: driverName, vendorVersion: version, manifest: {} }),
    getPluginCapabilities: async () => ({ capabilities }),
    // CSI: `ready: false` means that the plugin still starts; an error would mean that it is not healthy.
    probe: async () => ({ ready: readiness().ready }),
  });
}

function serving(type: PluginCapability_Service_Type) {
  return { type: { $case: "service", value: { type } } } as const;
}
