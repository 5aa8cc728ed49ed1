/** Claims that come without credentials although their class names a Secret (PR-10). */
import { DriverError } from "../../core/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { ComingVolume } from "../csi-controller-parts.ts";
import { type ClassesWithSecrets, resolvedSecret } from "./classes-with-secrets.ts";

export interface FallbackParts {
  readonly client: Pick<KubeClient, "get">;
  readonly classes: ClassesWithSecrets;
  readonly events: Pick<EventRecorder, "record">;
  readonly allowed: boolean;
}

/** For a call without credentials of its own. */
export async function checkFallback(
  call: Call,
  { client, classes, events, allowed }: FallbackParts,
  volume: ComingVolume,
): Promise<void> {
  const found = await classes.ofClaim(call, client, volume.claim);
  if (found === undefined) return;
  const { claim, of } = found;
  if (of.provisionerSecret !== undefined) {
    throw noKeysIn(resolvedSecret(of.provisionerSecret, claim, volume.name) ?? of.provisionerSecret, of.name);
  }
  const why = `StorageClass ${of.name} names a node-publish Secret, but no provisioner Secret`;
  const hint =
    "Name both in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace); chart value s3CredentialSecret.fallback decides whether the driver's keys stand in.";
  if (!allowed) throw new DriverError("invalid", `the driver's keys may not stand in: ${why}`, { hint });
  const message = `The bucket is made with the keys of the driver: ${why}. ${hint}`;
  const about = { kind: kinds.persistentVolumeClaims, metadata: claim.metadata };
  await events.record(call, about, { type: "Warning", reason: "DriverCredentialsUsed", message });
}

/** The provisioner has found the Secret, else it would not have called: so it is empty, and somebody means to fill it. */
function noKeysIn(secret: string, className: string): DriverError {
  const message = `access_key_id in Secret ${secret} is missing or empty: it is the provisioner Secret of StorageClass ${className}`;
  return new DriverError("invalid", message, {
    hint: "Put access_key_id and secret_access_key into it; the keys of the driver do not stand in for it.",
  });
}
