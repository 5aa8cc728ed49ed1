/** What CreateVolume does about the provisioner Secret of the StorageClass before it creates a bucket. */
import type { VolumeId } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import type { Claim, DeletePolicy } from "../domain/storage-class.ts";
import { checkFallback, type FallbackDependencies } from "./fallback.ts";
import { type ProtectDependencies, protectSecret } from "./protect-secret.ts";

/** A volume without a PersistentVolume yet. */
export interface PendingVolume {
  readonly id: VolumeId;
  /** The name that the PersistentVolume will have. */
  readonly name: string;
  /** undefined: csi-provisioner runs without --extra-create-metadata. */
  readonly claim: Claim | undefined;
}

export interface ProvisionerSecrets {
  /**
   * Without credentials in the request: throws, or reports that the driver's are used, if the StorageClass names a Secret. With
   * credentials: protects the Secret that DeleteVolume will need.
   */
  prepare(call: Call, volume: PendingVolume, request: RequestFacts): Promise<void>;
  /** Call it if CreateVolume failed and certainly left no bucket. */
  volumeNotCreated(id: VolumeId): void;
}

interface RequestFacts {
  readonly hasCredentials: boolean;
  readonly deletePolicy: DeletePolicy;
}

export function provisionerSecrets(dependencies: FallbackDependencies & ProtectDependencies): ProvisionerSecrets {
  return {
    prepare: async (call, volume, { hasCredentials, deletePolicy }) => {
      if (!hasCredentials) await checkFallback(call, dependencies, volume);
      else if (deletePolicy !== "retain") await protectSecret(call, dependencies, volume);
    },
    volumeNotCreated: (id) => dependencies.protection?.volumeNotCreated(id),
  };
}
