/**
 * Records of the Secrets that carry the driver's finalizer, kept in a ConfigMap. The CSI controller service writes a record before it
 * adds the finalizer and removes it afterwards, so that a finalizer that no volume needs is found again after any crash. Listing
 * Secrets instead would need the right to read all of them.
 */
import { createHash } from "node:crypto";

/** NAMESPACE/NAME. */
export type SecretKey = `${string}/${string}`;

export interface SecretRecord {
  readonly secret: SecretKey;
  /** When a volume was last created with these credentials. */
  readonly at: Date;
  /** The process that wrote the record: only it knows whether the PersistentVolume of the volume exists already. */
  readonly by: string;
}

/** Field of the ConfigMap that the chart writes. "off": no Secret is protected, and a Job removes all finalizers. */
export const protectionField = "protection";

type Data = Readonly<Record<string, string>>;

export function isProtectionOn(data: Data): boolean {
  return data[protectionField] !== "off";
}

/** A digest, because namespace and name together can be longer than a ConfigMap key. */
export function recordKey(secret: SecretKey): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 32);
}

export function recordText({ secret, at, by }: SecretRecord): string {
  return [secret, at.toISOString(), by].join(" ");
}

/** Ignores entries that are no records, for example those written by hand. A record without a valid time counts as old. */
export function recordsIn(data: Data): readonly SecretRecord[] {
  return Object.entries(data).flatMap(([key, text]) => {
    const [secret = "", time = "", by = ""] = text.split(" ");
    if (!/^[^/]+\/[^/]+$/.test(secret) || key !== recordKey(secret as SecretKey)) return [];
    const at = new Date(time);
    return [{ secret: secret as SecretKey, at: Number.isNaN(at.valueOf()) ? new Date(0) : at, by }];
  });
}

/** Splits at the first slash: in a StorageClass the name may be a template with an annotation key that contains slashes. */
export function namespaceAndName(secret: SecretKey): { readonly namespace: string; readonly name: string } {
  const at = secret.indexOf("/");
  return { namespace: secret.slice(0, at), name: secret.slice(at + 1) };
}

/** The Secret that csi-provisioner has noted on a PersistentVolume for DeleteVolume; undefined: it needs none. */
export function deletionSecretIn(annotations: Readonly<Record<string, string>>): SecretKey | undefined {
  const noted = (field: string) => annotations[`volume.kubernetes.io/provisioner-deletion-secret-${field}`];
  return noted("name") ? `${noted("namespace") ?? ""}/${noted("name") ?? ""}` : undefined;
}

export interface ReleaseCase {
  readonly record: SecretRecord;
  /** Whether a PersistentVolume, or a CreateVolume call of this process that has no PersistentVolume yet, needs the Secret. */
  readonly isNeeded: boolean;
  readonly self: string;
  readonly now: Date;
}

/** How long csi-provisioner may take to create the PersistentVolume if the process that answered CreateVolume has ended. */
export const settleMs = 600_000;

/** A process renews its record only every half of the time, so that a burst of claims writes it once. */
const keepForOthersMs = settleMs * 1.5;
const farAheadMs = 3_600_000;

/** How long the Secret must still be kept. 0: release it; undefined: keep it until no volume needs it. */
export function keepForMs({ record, isNeeded, self, now }: ReleaseCase): number | undefined {
  if (isNeeded) return undefined;
  if (record.by === self) return 0;
  const ageMs = now.valueOf() - record.at.valueOf();
  // Clocks of two nodes differ by a little. A time that is far ahead says nothing, and would keep the Secret for as long.
  if (ageMs < -farAheadMs) return 0;
  return Math.max(0, keepForOthersMs - Math.max(0, ageMs));
}
