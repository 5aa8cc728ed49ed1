/** Finds the Secret that the deletion of a coming volume will need, and keeps it from being deleted before the volume is. */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import type { ComingVolume, CsiControllerParts } from "../csi-controller-parts.ts";
import { type ClassesWithSecrets, resolvedSecret } from "./classes-with-secrets.ts";
import type { SecretProtection } from "./secret-protection.ts";

export interface KeepSecretParts {
  readonly client: Pick<KubeClient, "get">;
  readonly classes: ClassesWithSecrets;
  readonly protection: SecretProtection | undefined;
}

export function keepSecretOf(parts: KeepSecretParts): CsiControllerParts["keepSecret"] {
  return async (call, volume) => {
    try {
      await keepSecret(call, parts, volume);
    } catch (error) {
      if (error instanceof DriverError || call.signal.aborted) throw error;
      // An earlier attempt may have made the bucket: csi-provisioner has to repeat the call.
      const message = `the provisioner Secret cannot be protected: ${describeError(error)}`;
      throw new DriverError("notReady", message, { cause: error });
    }
  };
}

async function keepSecret(call: Call, { client, classes, protection }: KeepSecretParts, volume: ComingVolume) {
  if (protection === undefined) return;
  const { claim, of } = (await classes.ofClaim(call, client, volume.claim)) ?? {};
  if (claim === undefined || of?.provisionerSecret === undefined || !of.deletesVolumes) return;
  const secret = resolvedSecret(of.provisionerSecret, claim, volume.name);
  if (secret !== undefined) await protection.expectVolume(call, volume.id, secret);
}
