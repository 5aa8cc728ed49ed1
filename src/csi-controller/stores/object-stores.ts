/** The connections to each store of the installation. No two stores share one: proxies and certificates differ, and so do limits. */

import type { Store, StoreName, Stores } from "../../core/stores/store.ts";
import type { Proxy } from "../../core/volume/proxy.ts";
import { ObjectStore, type StoreSettings } from "../../s3/object-store.ts";
import { trusted, trustedWith } from "../../s3/trust.ts";

export interface ObjectStoreParts extends Pick<StoreSettings, "userAgent" | "limits" | "onAnswered"> {
  /** Trusted for stores without certificates of their own. */
  readonly caBundle: string | undefined;
  readonly systemRoots: string | undefined;
  readonly proxy: Proxy;
}

export class ObjectStores implements Disposable {
  readonly #all: ReadonlyMap<StoreName, ObjectStore>;

  /** Throws if the bundle cannot be read. */
  constructor(stores: Stores, { caBundle, systemRoots, ...rest }: ObjectStoreParts) {
    const usual = trusted(caBundle, systemRoots);
    const open = (store: Store) => {
      const { caCertificates } = store;
      const roots = caCertificates === undefined ? usual : trustedWith(caCertificates, systemRoots);
      return new ObjectStore({ ...rest, store, trusted: roots });
    };
    this.#all = new Map(Array.from(stores, ([name, store]) => [name, open(store)]));
  }

  of({ name }: Store): ObjectStore {
    const found = this.#all.get(name);
    if (found === undefined) throw new Error(`store ${name} is not listed`);
    return found;
  }

  [Symbol.dispose](): void {
    for (const store of this.#all.values()) store[Symbol.dispose]();
  }
}
