/** Whose credentials a mount uses, at which store (SE-6, ID-1, ID-4). */
import { driverIdentity, parseIdentity, podIdentity, type ServiceAccount } from "../../core/identity.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import type { Credentials } from "../../s3/credentials.ts";

export type Access = DriverAccess | SecretAccess | PodAccess;

export interface DriverAccess {
  readonly source: "driver";
  readonly store: StoreName;
}

export interface SecretAccess {
  readonly source: "secret";
  readonly store: StoreName;
  readonly credentials: Credentials;
}

/** Credentials for the service account of the workload, which STS gives for its token. */
export interface PodAccess {
  readonly source: "pod";
  readonly store: StoreName;
  readonly account: ServiceAccount;
  /** That of the volume; undefined: that of the account, else of the store. */
  readonly role: string | undefined;
}

/**
 * Whether a Mountpoint Pod with this identity is for such credentials. kubelet does not say which Secret they are from, so of Secrets only
 * the store is compared; the volume names the Secret, and the controller compares that. It does not read Secrets: of one that names a
 * store for a volume that does not, it knows the default store.
 */
export function isFor(identity: string, access: Access): boolean {
  if (access.source === "pod") return identity === podIdentity(access.account, access.role, access.store);
  if (access.source === "driver") return identity === driverIdentity(access.store);
  const known = parseIdentity(identity);
  return known?.source === "secret" && [access.store, defaultStore].includes(known.store);
}

/** For people. */
export function describeAccess(access: Access): string {
  const store = access.store === "default" ? "" : ` at store ${access.store}`;
  switch (access.source) {
    case "driver":
      return `the keys of the driver${store}`;
    case "secret":
      return `keys of its own${store}`;
    case "pod":
      return `those of service account ${access.account.namespace}/${access.account.name}${store}`;
    default:
      return access satisfies never;
  }
}
