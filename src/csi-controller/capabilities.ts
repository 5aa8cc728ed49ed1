/** What a volume of this driver can be used for. */
import { DriverError } from "../core/errors.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from "../csi/gen/csi.ts";

/** Refuses with the reason. Every access mode is fine: a bucket is reached from everywhere, and kubelet and scheduler keep single users apart. */
export function checkCapabilities(capabilities: readonly VolumeCapability[]): void {
  if (capabilities.length === 0) throw new DriverError("invalid", "volume_capabilities is required");
  for (const capability of capabilities) {
    const problem = problemOf(capability);
    if (problem !== undefined) {
      throw new DriverError("invalid", problem, { hint: "In the claim: use volumeMode Filesystem." });
    }
  }
}

/** undefined: it can be served. */
export function problemOf({ accessType, accessMode }: VolumeCapability): string | undefined {
  if (accessType === undefined) return "volume_capabilities has an entry without an access type";
  if (accessType.$case === "block") return "volume_capabilities asks for a block device, and a bucket cannot be one";
  if ((accessMode?.mode ?? Mode.UNKNOWN) === Mode.UNKNOWN)
    return "volume_capabilities has an entry without an access mode";
  return undefined;
}
