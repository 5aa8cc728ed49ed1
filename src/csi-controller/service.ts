/** The CSI controller service. */
import { ControllerServiceCapability_RPC_Type as Capability, ControllerService } from "../csi/gen/csi.ts";
import { type Service, service } from "../csi/service.ts";
import { type CreateDependencies, createVolume } from "./create-volume.ts";
import { type DeleteDependencies, deleteVolume } from "./delete-volume.ts";
import { type ValidateDependencies, validateCapabilities } from "./validate-capabilities.ts";

export function controllerService(
  dependencies: CreateDependencies & DeleteDependencies & ValidateDependencies,
): Service {
  return service(ControllerService, {
    createVolume: async (call, request) => ({ volume: await createVolume(call, dependencies, request) }),
    deleteVolume: async (call, request) => {
      await deleteVolume(call, dependencies, request);
      return {};
    },
    validateVolumeCapabilities: (call, request) => validateCapabilities(call, dependencies, request),
    // No EXPAND_VOLUME and no GET_CAPACITY: buckets have no size. No LIST_VOLUMES: the PersistentVolumes list them.
    controllerGetCapabilities: async () => ({
      capabilities: [{ type: { $case: "rpc", value: { type: Capability.CREATE_DELETE_VOLUME } } }],
    }),
  });
}
