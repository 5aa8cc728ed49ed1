/** Protects the Secret that DeleteVolume of a pending volume will need (PR-11). */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { type ClassesWithSecrets, resolvedSecret } from "./classes-with-secrets.ts";
import type { PendingVolume } from "./provisioner-secrets.ts";
import type { SecretProtection } from "./secret-protection.ts";

export interface ProtectDependencies {
  readonly client: Pick<KubeClient, "get">;
  readonly classes: ClassesWithSecrets;
  /** undefined: no Secret is protected, as under manifests of 2.x. */
  readonly protection: SecretProtection | undefined;
}

export async function protectSecret(
  call: Call,
  dependencies: ProtectDependencies,
  volume: PendingVolume,
): Promise<void> {
  try {
    await protect(call, dependencies, volume);
  } catch (error) {
    if (error instanceof DriverError || call.signal.aborted) throw error;
    // "notReady", so that csi-provisioner repeats the call: an earlier attempt may have created the bucket.
    const message = `failed to protect the provisioner Secret: ${describeError(error)}`;
    throw new DriverError("notReady", message, { cause: error });
  }
}

async function protect(call: Call, { client, classes, protection }: ProtectDependencies, volume: PendingVolume) {
  if (protection === undefined) return;
  const { claim, storageClass } = (await classes.ofClaim(call, client, volume.claim)) ?? {};
  if (claim === undefined) return protection.stillExpectVolume(volume.id);
  if (storageClass?.provisionerSecret === undefined || !storageClass.deletesVolumes) return;
  const secret = resolvedSecret(storageClass.provisionerSecret, claim, volume.name);
  if (secret !== undefined) await protection.expectVolume(call, volume.id, secret);
}
