import { randomBytes } from "node:crypto";
import type { CreateVolumeRequest } from "../../src/csi/gen/csi.ts";

/** What csi-provisioner asks for, under a name of its own. */
export function createRequest(options: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest {
  return {
    name: `pvc-${randomBytes(8).toString("hex")}`,
    volumeCapabilities: [
      {
        accessType: { $case: "mount", value: { fsType: "", mountFlags: [], volumeMountGroup: "" } },
        accessMode: { mode: 5 },
      },
    ],
    parameters: {},
    secrets: {},
    mutableParameters: {},
    ...options,
  };
}
