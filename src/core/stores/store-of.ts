/** Which store a volume, a StorageClass or a Secret names (ID-4). Only stores of the installation can be named. */
import { quoted } from "../attribute-refusal.ts";
import { defaultStore, type Store, type StoreName, type Stores, storeNames } from "./store.ts";

/** As given: neither is checked yet. Empty texts count as absent. */
export interface StoreReference {
  readonly store: string | undefined;
  readonly endpointUrl: string | undefined;
}

export type FoundStore =
  | { readonly store: Store }
  /** `field` is the member of the reference; problem and fix are clauses. */
  | { readonly field: keyof StoreReference; readonly problem: string; readonly fix: string };

/** The default store for a reference that names none. */
export function storeOf(stores: Stores, { store: name, endpointUrl }: StoreReference): FoundStore {
  if (name) {
    const named = stores.get(name as StoreName);
    if (named === undefined) return unknownStore(stores, name);
    return endpointUrl && !isAt(named, endpointUrl) ? redefined(named, endpointUrl) : { store: named };
  }
  if (endpointUrl) {
    const found = [...stores.values()].find((store) => isAt(store, endpointUrl));
    return found === undefined ? unlisted(stores, endpointUrl) : { store: found };
  }
  return { store: usualOf(stores) };
}

function usualOf(stores: Stores): Store {
  const usual = stores.get(defaultStore);
  if (usual === undefined) throw new Error("the default store is missing");
  return usual;
}

/** Whether the store has, or had, this address. */
export function isAt({ endpointUrl, formerEndpointUrls }: Store, url: string): boolean {
  const wanted = normalized(url);
  return [endpointUrl, ...formerEndpointUrls].some((known) => normalized(known) === wanted);
}

/** Spellings of one address are equal: case of the host, the port of the scheme, a slash at the end. */
function normalized(url: string): string {
  if (!URL.canParse(url)) return url;
  return new URL(url).href.replace(/\/+$/, "");
}

function unknownStore(stores: Stores, name: string): FoundStore {
  return {
    field: "store",
    problem: `${quoted(name)} is not a store of this installation`,
    fix: `use one of ${storeNames(stores)}, or add it to the chart value s3.stores`,
  };
}

function unlisted(stores: Stores, endpointUrl: string): FoundStore {
  const usual = usualOf(stores);
  // A reconciler under manifests of 2.x does not know the address of its only store: the node plugin compares it.
  if (usual.endpointUrl === "") return { store: usual };
  return {
    field: "endpointUrl",
    problem: `${quoted(endpointUrl)} is not the address of a store of this installation`,
    fix: `name one of its stores instead (${storeNames(stores)}), or add the address to the chart value s3.stores`,
  };
}

function redefined({ name, endpointUrl: now }: Store, endpointUrl: string): FoundStore {
  return {
    field: "endpointUrl",
    problem: `${quoted(endpointUrl)} is not an address of store ${name}, which is ${now}`,
    fix: `if the store has moved, add the address to the chart value s3.stores.${name}.formerEndpointUrls; otherwise name the right store`,
  };
}
