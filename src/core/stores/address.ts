/** The addresses of a store, and when two of them are the same. */
import type { Store, StoreName, Stores } from "./store.ts";

type Addresses = Pick<Store, "endpointUrl" | "formerEndpointUrls">;

/** Whether the store has, or had, this address. */
export function isAt(store: Addresses, url: string): boolean {
  return addressesOf(store).has(normalized(url));
}

/** Whether the store has this address now. */
export function isNowAt({ endpointUrl }: Addresses, url: string): boolean {
  return normalized(endpointUrl) === normalized(url);
}

/**
 * Whether the names may stand for one store: it may be listed under two names, with different accounts. Nothing is known about a store that
 * is not listed.
 */
export function mayBeSameStore(stores: Stores, one: StoreName, other: StoreName): boolean {
  if (one === other) return true;
  const [first, second] = [stores.get(one), stores.get(other)];
  if (first === undefined || second === undefined) return true;
  const addresses = addressesOf(second);
  return [...addressesOf(first)].some((address) => addresses.has(address));
}

function addressesOf({ endpointUrl, formerEndpointUrls }: Addresses): ReadonlySet<string> {
  return new Set([endpointUrl, ...formerEndpointUrls].map(normalized));
}

/** Spellings of one address are equal: case of the host, the port of the scheme, a slash at the end. */
function normalized(url: string): string {
  if (!URL.canParse(url)) return url;
  return new URL(url).href.replace(/\/+$/, "");
}
