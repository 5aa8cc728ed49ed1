/** A provisioner Secret may say for which store its credentials are: `store` or `endpoint_url`. They are not sent to another (ID-4). */

import { DriverError } from "../../core/errors.ts";
import type { Store } from "../../core/stores/store.ts";
import { contradicts, type StoreReference } from "../../core/stores/store-of.ts";
import { quoted } from "../../core/volume/attribute-refusal.ts";
import type { Secrets } from "../buckets.ts";

/** Fields of the Secret by the member of the reference. */
const fields = { store: "store", endpointUrl: "endpoint_url" } as const;

/** As given; empty texts count as absent. */
export function storeInSecret(secrets: Secrets): StoreReference {
  const read = (field: string) => secrets[field]?.trim() || undefined;
  return { store: read(fields.store), endpointUrl: read(fields.endpointUrl) };
}

/** Call it before the credentials of the Secret are used at the store. */
export function checkSecretIsFor(store: Store, secrets: Secrets): void {
  const reference = storeInSecret(secrets);
  const field = contradicts(reference, store);
  if (field !== undefined) throw otherStore(field, reference[field] ?? "", store);
}

function otherStore(field: keyof StoreReference, value: string, store: Store): DriverError {
  const problem = `${quoted(value)}, and the volume is on store ${store.name} (${store.endpointUrl})`;
  return secretRefusal(
    field,
    `is ${problem}: the credentials are not sent there`,
    "name the store of the volume, or name another Secret in the StorageClass",
  );
}

export function secretRefusal(field: keyof StoreReference, problem: string, fix: string): DriverError {
  return new DriverError("invalid", `${fields[field]} in the provisioner Secret ${problem}`, {
    hint: `In the Secret: ${fix}.`,
  });
}
