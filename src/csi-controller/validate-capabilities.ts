import { DriverError } from "../core/errors.ts";
import type { ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse } from "../csi/gen/csi.ts";
import type { Call } from "../runtime/call.ts";
import { problemOf } from "./capabilities.ts";
import type { CsiControllerParts } from "./csi-controller-parts.ts";
import { placeFrom } from "./domain/dynamic-volume.ts";

/** Confirms what can be served, or explains what cannot: that is an answer, not an error. */
export async function validateCapabilities(
  call: Call,
  parts: CsiControllerParts,
  request: ValidateVolumeCapabilitiesRequest,
): Promise<ValidateVolumeCapabilitiesResponse> {
  const { volumeId, volumeCapabilities, volumeContext, parameters, mutableParameters } = request;
  if (volumeId === "") throw new DriverError("invalid", "volume_id is required");
  if (volumeCapabilities.length === 0) throw new DriverError("invalid", "volume_capabilities is required");
  if (!(await exists(call, parts, request))) throw new DriverError("missing", `volume ${volumeId} does not exist`);
  const problem = volumeCapabilities.map(problemOf).find((each) => each !== undefined);
  if (problem !== undefined) return { message: problem };
  return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters }, message: "" };
}

async function exists(
  call: Call,
  parts: CsiControllerParts,
  request: ValidateVolumeCapabilitiesRequest,
): Promise<boolean> {
  const { volumeId, secrets } = request;
  if (await parts.volumes.haveHandle(call, volumeId)) return true;
  const place = placeFrom(volumeId);
  if (place === undefined || place.prefix !== undefined) return false;
  const buckets = parts.store.as(await parts.access(call, secrets, undefined));
  return await buckets.exists(call, place.bucket);
}
