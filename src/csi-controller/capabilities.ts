/** Which volume capabilities the driver supports. */
import { DriverError } from "../core/errors.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from "../csi/gen/csi.ts";

/** Throws if a capability is not supported. All access modes are: kubelet and scheduler enforce those for a single node or Pod. */
export function checkCapabilities(capabilities: readonly VolumeCapability[]): void {
  if (capabilities.length === 0) throw new DriverError("invalid", "volume_capabilities is required");
  for (const capability of capabilities) {
    const problem = unsupported(capability);
    if (problem !== undefined) {
      throw new DriverError("invalid", problem, { hint: "In the claim: use volumeMode Filesystem." });
    }
  }
}

/** Why a capability is not supported; undefined: it is. */
export function unsupported({ accessType, accessMode }: VolumeCapability): string | undefined {
  if (accessType === undefined) return "volume_capabilities has an entry without access_type";
  if (accessType.$case === "block") return "volume_capabilities asks for a block device; S3 volumes are file systems";
  if ((accessMode?.mode ?? Mode.UNKNOWN) === Mode.UNKNOWN)
    return "volume_capabilities has an entry without access_mode";
  return undefined;
}
