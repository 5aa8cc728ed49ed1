/** The store of a mount that is started from a record, as the installation lists it now (ID-4). */
import { DriverError } from "../../core/errors.ts";
import { defaultStore, type Store, type Stores } from "../../core/stores/store.ts";
import { isAt } from "../../core/stores/store-of.ts";
import type { MountRecord } from "../records/mount-records.ts";

const endpointVariable = "AWS_ENDPOINT_URL";

/**
 * Throws if the name belongs to another store by now: running workloads would get other data, and its credentials would go to the former
 * one. A store that has moved lists its former address.
 */
export function storeOfRecord(stores: Stores, { access, request }: Pick<MountRecord, "access" | "request">): Store {
  const store = stores.get(access.store);
  const value = `s3.stores.${access.store}`;
  if (store === undefined) {
    throw new DriverError("notReady", `store ${access.store} is not a store of this installation any more`, {
      hint: `Add it to the chart value s3.stores again, or restart the Pod with a volume of another store.`,
    });
  }
  const mountedAt = request.env[endpointVariable];
  if (store.name === defaultStore || mountedAt === undefined || isAt(store, mountedAt)) return store;
  throw new DriverError(
    "notReady",
    `store ${store.name} is now ${store.endpointUrl}, and the volume was mounted at ${mountedAt}`,
    {
      hint: `If the store has moved, add the former address to the chart value ${value}.formerEndpointUrls. If it is another store, restart the Pod.`,
    },
  );
}

/** A named store that has moved is used at its present address. */
export function atPresentAddress({ request }: Pick<MountRecord, "request">, store: Store): MountRecord["request"] {
  if (store.name === defaultStore) return request;
  return { ...request, env: { ...request.env, [endpointVariable]: store.endpointUrl } };
}
