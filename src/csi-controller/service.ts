/** The CSI controller service: each method parses, calls and answers. */
import { ControllerServiceCapability_RPC_Type as Capability, ControllerService } from "../csi/gen/csi.ts";
import { type Service, service } from "../csi/service.ts";
import { createVolume } from "./create-volume.ts";
import type { CsiControllerParts } from "./csi-controller-parts.ts";
import { deleteVolume } from "./delete-volume.ts";
import { validateCapabilities } from "./validate-capabilities.ts";

export function controllerService(parts: CsiControllerParts): Service {
  return service(ControllerService, {
    createVolume: async (call, request) => ({ volume: await createVolume(call, parts, request) }),
    deleteVolume: async (call, request) => {
      await deleteVolume(call, parts, request);
      return {};
    },
    validateVolumeCapabilities: (call, request) => validateCapabilities(call, parts, request),
    // A bucket has no size: there is nothing to expand and no capacity to report. Which volumes exist, the cluster knows.
    controllerGetCapabilities: async () => ({
      capabilities: [{ type: { $case: "rpc", value: { type: Capability.CREATE_DELETE_VOLUME } } }],
    }),
  });
}
