/** The store of a mount that is started from a record, as the installation lists it now (ID-4). */
import { DriverError } from "../../core/errors.ts";
import { isAt } from "../../core/stores/address.ts";
import { defaultStore, type Store, type StoreName, type Stores, valueOfStore } from "../../core/stores/store.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { endpointVariable, storeVariables } from "./store-variables.ts";

type Recorded = Pick<MountRecord, "access" | "request">;

/**
 * Throws if the name belongs to another store by now: running workloads would get other data, and its credentials would go to the former
 * one. A store that has moved lists its former address. The default store counts as moved, as in 2.x.
 */
export function storeOfRecord(stores: Stores, { access, request }: Recorded): Store {
  const store = stores.get(access.store);
  if (store === undefined) {
    throw new DriverError("notReady", `store ${access.store} is not a store of this installation any more`, {
      hint: "Add it to the chart value s3.stores again, or restart the Pod with a volume of another store.",
    });
  }
  if (store.name === defaultStore || isAtAddressOf(store, request)) return store;
  throw movedStore(store, { request });
}

export function movedStore({ name, endpointUrl }: Store, { request }: Pick<MountRecord, "request">): DriverError {
  const value = `${valueOfStore(name)}.formerEndpointUrls`;
  const mountedAt = request.env[endpointVariable];
  return new DriverError(
    "notReady",
    `store ${name} is now ${endpointUrl}, and the volume was mounted at ${mountedAt}`,
    {
      hint: `If the store has moved, add the former address to the chart value ${value}. If it is another store, restart the Pod.`,
    },
  );
}

/** Whether a mount with this request is at an address that the store has or had. Requests of earlier versions may have none. */
export function isAtAddressOf(store: Store, { env }: MountRecord["request"]): boolean {
  const mountedAt = env[endpointVariable];
  return mountedAt === undefined || isAt(store, mountedAt);
}

/** Throws if a mount that was started with this record must not be one with credentials for `store`. */
export function checkStaysAt(stores: Stores, record: Recorded, store: StoreName): void {
  storeOfRecord(stores, record);
  if (record.access.store === store) return;
  throw new DriverError(
    "notReady",
    `the volume is mounted at store ${record.access.store}, and its keys are for store ${store}`,
    {
      hint: "Restart the Pods of the volume on this node, or name the former store again where the store was changed.",
    },
  );
}

/** A mount from a record uses the present address, region and authority of its store. */
export function atPresentStore({ request }: Pick<MountRecord, "request">, store: Store): MountRecord["request"] {
  const { AWS_CA_BUNDLE: _former, ...env } = request.env;
  return { ...request, env: { ...env, ...storeVariables(store) } };
}
