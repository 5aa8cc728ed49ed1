/** The store of a new volume: that of the StorageClass, else that of the provisioner Secret, else the default store (ID-4). */
import { defaultStore, type Store, type Stores, valueOfStore } from "../../core/stores/store.ts";
import { namesStore, type StoreReference, storeOf } from "../../core/stores/store-of.ts";
import type { Secrets } from "../buckets.ts";
import { parameterRefusal } from "../domain/parameter-refusal.ts";
import type { ClassParameters } from "../domain/storage-class.ts";
import { secretRefusal, storeInSecret } from "./secret-store.ts";

/** What this installation offers to volumes. */
export interface Installation {
  readonly stores: Stores;
  /** Whether volumes may use credentials for the service account of the workload. */
  readonly podIdentity: boolean;
}

export interface StoreForVolume {
  readonly store: Store;
  /** Whether the StorageClass or the Secret names it. The PersistentVolume then does, too: a node-publish Secret cannot change it. */
  readonly isNamed: boolean;
}

type Parameters = Pick<ClassParameters, "store" | "podIdentity">;

/** Throws "invalid" with the name of the parameter or field. */
export function storeForVolume(
  { stores, podIdentity }: Installation,
  parameters: Parameters,
  secrets: Secrets,
): StoreForVolume {
  const found = storeNamed(stores, parameters.store, storeInSecret(secrets));
  if (parameters.podIdentity !== undefined) checkPodIdentity(podIdentity, found.store);
  return found;
}

function storeNamed(stores: Stores, ofClass: StoreReference, ofSecret: StoreReference): StoreForVolume {
  const isOfSecret = !namesStore(ofClass) && namesStore(ofSecret);
  const found = storeOf(stores, isOfSecret ? ofSecret : ofClass);
  if ("store" in found) return { store: found.store, isNamed: isOfSecret || namesStore(ofClass) };
  const refusal = isOfSecret ? secretRefusal : parameterRefusal;
  throw refusal(found.field, found.problem, found.fix);
}

function checkPodIdentity(isOffered: boolean, { name, sts }: Store): void {
  if (!isOffered) {
    throw parameterRefusal(
      "authenticationSource",
      '"pod" is not enabled in this installation',
      "leave it out, or set the chart value podIdentity.enabled",
    );
  }
  if (sts !== undefined) return;
  throw parameterRefusal(
    "authenticationSource",
    `"pod" needs STS, and ${name === defaultStore ? "the default store" : `store ${name}`} has none`,
    `leave it out, or set the chart value ${valueOfStore(name)}.sts.endpointUrl`,
  );
}
