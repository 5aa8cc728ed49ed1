/** Stores and credentials of a node plugin in a test. */

import { driverIdentity } from "../../src/core/identity.ts";
import { defaultStore, type Store, type StoreName, type Stores } from "../../src/core/stores/store.ts";
import { storesFrom } from "../../src/core/stores/store-list.ts";
import type { SecretAccess } from "../../src/node/credentials/access.ts";
import type { MountCredentials } from "../../src/node/credentials/credentials.ts";
import type { DriverCredentials } from "../../src/node/credentials/driver-credentials.ts";

/** The default store, and those that are listed as in the chart's values. */
export function storesWith(list: Readonly<Record<string, unknown>> = {}): Stores {
  return storesFrom({ endpointUrl: "http://s3", region: "us-east-1" }, list);
}

export const usualStore = storesWith().get(defaultStore) as Store;

export const usualIdentity = driverIdentity(defaultStore);

/** An installation with one store, without identities of workloads. */
export const plainStores = { stores: storesWith(), podIdentity: false };

/** The driver's credentials at the default store. */
export function atDefaultStore(credentials: DriverCredentials): MountCredentials["drivers"] {
  return {
    of: (store: StoreName) => {
      if (store === defaultStore) return credentials;
      throw new Error(`the driver has no credentials for store ${store}`);
    },
    onChange: (listener) => credentials.onChange(() => listener(defaultStore)),
  };
}

/** For tests without identities of workloads. */
export const noSessions: MountCredentials["sessions"] = {
  offer: () => ({ [Symbol.dispose]: () => undefined }),
  known: () => undefined,
  get: () => Promise.reject(new Error("the test has no sessions")),
};

export const driverAccess = { source: "driver", store: defaultStore } as const;

export function secretAccess(credentials: SecretAccess["credentials"]): SecretAccess {
  return { source: "secret", store: defaultStore, credentials };
}
