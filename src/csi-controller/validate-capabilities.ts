import { DriverError } from "../core/errors.ts";
import type { ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse } from "../csi/gen/csi.ts";
import type { Call } from "../runtime/call.ts";
import type { OpenBuckets } from "./buckets.ts";
import { unsupported } from "./capabilities.ts";
import { parseVolumeId } from "./domain/bucket-location.ts";
import type { VolumeCache } from "./volume-cache.ts";

export interface ValidateDependencies {
  readonly openBuckets: OpenBuckets;
  readonly volumes: Pick<VolumeCache, "hasHandle">;
}

/** CSI asks for a response with a message, not for an error, if a capability is not supported. */
export async function validateCapabilities(
  call: Call,
  dependencies: ValidateDependencies,
  request: ValidateVolumeCapabilitiesRequest,
): Promise<ValidateVolumeCapabilitiesResponse> {
  const { volumeId, volumeCapabilities, volumeContext, parameters, mutableParameters } = request;
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  if (volumeCapabilities.length === 0) throw new DriverError("invalid", "volume_capabilities is required");
  if (!(await exists(call, dependencies, request))) {
    throw new DriverError("missing", `volume ${volumeId} does not exist`);
  }
  const problem = volumeCapabilities.map(unsupported).find((each) => each !== undefined);
  if (problem !== undefined) return { message: problem };
  return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters }, message: "" };
}

async function exists(
  call: Call,
  { openBuckets, volumes }: ValidateDependencies,
  { volumeId, secrets }: ValidateVolumeCapabilitiesRequest,
): Promise<boolean> {
  if (await volumes.hasHandle(call, volumeId)) return true;
  const location = parseVolumeId(volumeId);
  if (location === undefined || location.prefix !== undefined) return false;
  const buckets = await openBuckets(call, { store: location.store, secrets, region: undefined });
  return await buckets.exists(call, location.bucket);
}
