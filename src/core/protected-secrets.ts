/**
 * Which Secrets carry the driver's finalizer, as the CSI controller service records it in a ConfigMap. The record is written before
 * the finalizer and removed after it, so that a finalizer that no volume needs is found again after any crash: Secrets cannot be
 * listed without the right to read all of them.
 */
import { createHash } from "node:crypto";

/** NAMESPACE/NAME. */
export type SecretKey = `${string}/${string}`;

export interface SecretRecord {
  readonly secret: SecretKey;
  /** When a volume was last made with its credentials. */
  readonly at: Date;
  /** Which process wrote the record: it alone knows whether the volume has its PersistentVolume already. */
  readonly by: string;
}

/** Written by the chart beside the records. "off": nothing is protected, and everything is being released. */
export const protectionField = "protection";

type Data = Readonly<Record<string, string>>;

export function isProtectionOn(data: Data): boolean {
  return data[protectionField] !== "off";
}

/** A namespace and a name together are longer than a key of a ConfigMap may be. */
export function recordKey(secret: SecretKey): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 32);
}

export function recordText({ secret, at, by }: SecretRecord): string {
  return [secret, at.toISOString(), by].join(" ");
}

/** What people have written there by hand is no record. */
export function recordsIn(data: Data): readonly SecretRecord[] {
  return Object.entries(data).flatMap(([key, text]) => {
    const [secret = "", time = "", by = ""] = text.split(" ");
    if (!/^[^/]+\/[^/]+$/.test(secret) || key !== recordKey(secret as SecretKey)) return [];
    const at = new Date(time);
    return [{ secret: secret as SecretKey, at: Number.isNaN(at.valueOf()) ? new Date(0) : at, by }];
  });
}

/** At the first slash: in a StorageClass the name may be a template with the key of an annotation, which has slashes of its own. */
export function namespaceAndName(secret: SecretKey): { readonly namespace: string; readonly name: string } {
  const at = secret.indexOf("/");
  return { namespace: secret.slice(0, at), name: secret.slice(at + 1) };
}

export interface ReleaseCase {
  readonly record: SecretRecord;
  /** Whether a PersistentVolume, or a CreateVolume call of this process that has no PersistentVolume yet, needs the Secret. */
  readonly isNeeded: boolean;
  readonly self: string;
  readonly now: Date;
}

/** How long csi-provisioner may take from CreateVolume to the PersistentVolume when the process that answered has ended since. */
export const settleMs = 600_000;

/** For how long the Secret still has to be kept; 0: release it. undefined: as long as volumes need it. */
export function keepForMs({ record, isNeeded, self, now }: ReleaseCase): number | undefined {
  if (isNeeded) return undefined;
  if (record.by === self) return 0;
  const ageMs = now.valueOf() - record.at.valueOf();
  // A time in the future comes from another clock, and says nothing.
  return ageMs < 0 || ageMs >= settleMs ? 0 : settleMs - ageMs;
}
