/** Which store a volume, a StorageClass or a Secret names (ID-4). Only stores of the installation can be named. */
import { quoted } from "../volume/attribute-refusal.ts";
import { isAt, isNowAt } from "./address.ts";
import { defaultStore, type Store, type StoreName, type Stores, storeNames, valueOfStore } from "./store.ts";

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
export function storeOf(stores: Stores, reference: StoreReference): FoundStore {
  const { store: name, endpointUrl } = reference;
  if (name) {
    const named = stores.get(name as StoreName);
    if (named === undefined) return unknownStore(stores, name);
    return endpointUrl && contradicts(reference, named) ? redefined(named, endpointUrl) : { store: named };
  }
  return endpointUrl ? storeAt(stores, endpointUrl) : { store: usualOf(stores) };
}

export function namesStore({ store, endpointUrl }: StoreReference): boolean {
  return Boolean(store || endpointUrl);
}

/** The member of the reference that is not true of the store; undefined: the reference names the store, or none. */
export function contradicts(
  { store: name, endpointUrl }: StoreReference,
  store: Store,
): keyof StoreReference | undefined {
  if (name && name !== store.name) return "store";
  return endpointUrl && !isAt(store, endpointUrl) ? "endpointUrl" : undefined;
}

/**
 * Several stores may have one address, with different accounts. The order of the list must not choose among them: an upgrade that adds a
 * store would change the store of existing volumes.
 */
function storeAt(stores: Stores, endpointUrl: string): FoundStore {
  const all = [...stores.values()];
  const present = all.filter((store) => isNowAt(store, endpointUrl));
  const found = present.length > 0 ? present : all.filter((store) => isAt(store, endpointUrl));
  const [first, ...others] = found;
  if (first === undefined) return unlisted(stores, endpointUrl);
  if (others.length === 0) return { store: first };
  const usual = found.find(({ name }) => name === defaultStore);
  return usual === undefined ? ambiguous(found, endpointUrl) : { store: usual };
}

function usualOf(stores: Stores): Store {
  const usual = stores.get(defaultStore);
  if (usual === undefined) throw new Error("the default store is missing");
  return usual;
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

function ambiguous(found: readonly Store[], endpointUrl: string): FoundStore {
  const names = found.map(({ name }) => name);
  return {
    field: "endpointUrl",
    problem: `${quoted(endpointUrl)} is the address of stores ${names.join(" and ")}`,
    fix: `name the store (store: ${names.join(" or ")})`,
  };
}

function redefined({ name, endpointUrl: now }: Store, endpointUrl: string): FoundStore {
  return {
    field: "endpointUrl",
    problem: `${quoted(endpointUrl)} is not an address of store ${name}, which is ${now}`,
    fix: `if the store has moved, add the address to the chart value ${valueOfStore(name)}.formerEndpointUrls; otherwise name the right store`,
  };
}
