/** Which object store a call goes to, and with which credentials: those that csi-provisioner sends with it, else the driver's. */
import { DriverError } from "../../core/errors.ts";
import { type Store, type StoreName, type Stores, valueOfStore } from "../../core/stores/store.ts";
import { credentialsFrom, volumeCredentialFields } from "../../s3/credentials.ts";
import type { Access } from "../../s3/object-store.ts";
import { type Buckets, hasCredentials, type OpenBuckets } from "../buckets.ts";
import type { DriverCredentials } from "./driver-credentials.ts";
import { checkSecretIsFor } from "./secret-store.ts";

export interface OpenDependencies {
  readonly stores: Stores;
  readonly objectStores: { of(store: Store): { as(access: Access): Buckets } };
  readonly driverCredentials: DriverCredentials;
}

/** Region by precedence: StorageClass or volume, Secret, store. */
export function bucketsOf({ stores, objectStores, driverCredentials }: OpenDependencies): OpenBuckets {
  return async (call, { store: name, secrets, region }) => {
    const store = listedStore(stores, name);
    checkSecretIsFor(store, secrets);
    const credentials = hasCredentials(secrets)
      ? credentialsFrom("the provisioner Secret", secrets, volumeCredentialFields)
      : await driverCredentials(call, store);
    return objectStores.of(store).as({ credentials, ...regionFrom(region, secrets["region"]?.trim(), store.region) });
  };
}

function listedStore(stores: Stores, name: StoreName): Store {
  const store = stores.get(name);
  if (store !== undefined) return store;
  const problem = `the volume is on store ${name}, which is not a store of this installation any more`;
  throw new DriverError("invalid", `${problem}: nothing is deleted there`, {
    hint: `Restore the chart value ${valueOfStore(name)}. To give up the data there, set the reclaim policy of the PersistentVolume to Retain and delete it.`,
  });
}

function regionFrom(ofClass: string | undefined, ofSecret: string | undefined, ofStore: string) {
  if (ofClass !== undefined) return { region: ofClass, regionAskedBy: "parameters.region" };
  if (ofSecret) return { region: ofSecret, regionAskedBy: "region in the provisioner Secret" };
  return { region: ofStore, regionAskedBy: undefined };
}
