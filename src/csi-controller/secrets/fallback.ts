/** Provisioning with the driver's credentials although the StorageClass names a Secret (PR-10). */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { type ClassesWithSecrets, resolvedSecret } from "./classes-with-secrets.ts";
import type { PendingVolume } from "./provisioner-secrets.ts";

export interface FallbackDependencies {
  readonly client: Pick<KubeClient, "get">;
  readonly classes: ClassesWithSecrets;
  readonly events: Pick<EventRecorder, "record">;
  /** Chart value s3CredentialSecret.fallback. */
  readonly allowFallback: boolean;
}

/** Call it for a request without credentials. Throws if the driver's credentials must not be used; else reports their use. */
export async function checkFallback(
  call: Call,
  { client, classes, events, allowFallback }: FallbackDependencies,
  volume: PendingVolume,
): Promise<void> {
  const found = await classes.ofClaim(call, client, volume.claim);
  if (found === undefined) return;
  const { claim, storageClass } = found;
  const { provisionerSecret, name } = storageClass;
  if (provisionerSecret !== undefined) {
    throw emptySecret(resolvedSecret(provisionerSecret, claim, volume.name) ?? provisionerSecret, name);
  }
  const reason = `StorageClass ${name} names a node-publish Secret, but no provisioner Secret`;
  const hint =
    "Name both in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace); chart value s3CredentialSecret.fallback decides whether the driver's credentials are used instead.";
  if (!allowFallback) {
    throw new DriverError("invalid", `the driver's credentials may not be used: ${reason}`, { hint });
  }
  const message = `The bucket is created with the driver's credentials: ${reason}`;
  const about = { kind: kinds.persistentVolumeClaims, metadata: claim.metadata };
  events.record(call, about, { reason: "DriverCredentialsUsed", message, fix: hint });
}

/** The Secret exists, because csi-provisioner does not call without it, but it has no fields. */
function emptySecret(secret: string, className: string): DriverError {
  const message = `access_key_id in Secret ${secret} is missing or empty: it is the provisioner Secret of StorageClass ${className}`;
  return new DriverError("invalid", message, {
    hint: "Add access_key_id and secret_access_key to the Secret; the driver's credentials are not used in its place.",
  });
}
