import { expect, it } from "vitest";
import type { Store, StoreName } from "./store.ts";
import { storesFrom } from "./store-list.ts";
import { contradicts, type FoundStore, storeOf } from "./store-of.ts";

const stores = storesFrom(
  { endpointUrl: "https://ring.example.com", region: "us-east-1" },
  { minio: { endpointUrl: "http://minio.example.com:9000/", formerEndpointUrls: ["http://old.example.com"] } },
);

function named(store: string | undefined, endpointUrl?: string): FoundStore {
  return storeOf(stores, { store, endpointUrl });
}

function found(reference: FoundStore): StoreName | string {
  return "store" in reference ? reference.store.name : reference.field;
}

it.for([
  ["nothing", undefined, undefined, "default"],
  ["its name", "minio", undefined, "minio"],
  ["the name of the default one", "default", undefined, "default"],
  ["the address of the default one", undefined, "https://ring.example.com", "default"],
  ["an address in another spelling", undefined, "HTTP://MINIO.example.com:9000", "minio"],
  ["the port of the scheme", undefined, "https://ring.example.com:443/", "default"],
  ["an address that it had before", undefined, "http://old.example.com/", "minio"],
  ["name and address", "minio", "http://minio.example.com:9000", "minio"],
] as const)("ID-4 a store is found by %s", ([, store, endpointUrl, expected]) => {
  expect(found(named(store, endpointUrl))).toBe(expected);
});

it.for([
  ["an unknown name", "azure", undefined, "store"],
  ["a name of every object", "constructor", undefined, "store"],
  ["an address that is not listed", undefined, "http://evil.example.com", "endpointUrl"],
  ["a longer address", undefined, "https://ring.example.com.evil.example.com", "endpointUrl"],
  ["another path", undefined, "https://ring.example.com/evil", "endpointUrl"],
  ["another scheme", undefined, "http://ring.example.com", "endpointUrl"],
  ["the user of another store", undefined, "https://ring.example.com@evil.example.com", "endpointUrl"],
  ["a name with the address of another store", "minio", "https://ring.example.com", "endpointUrl"],
] as const)("ID-4 %s is refused, with the field", ([, store, endpointUrl, field]) => {
  expect(found(named(store, endpointUrl))).toBe(field);
});

it("ID-4 a program that does not know the address of its only store leaves the comparison to the node plugin", () => {
  const only = storesFrom({ endpointUrl: "", region: "us-east-1" }, {});
  expect(found(storeOf(only, { store: undefined, endpointUrl: "https://ring.example.com" }))).toBe("default");
});

const shared = "http://shared.example.com";
const old = { endpointUrl: "http://new.example.com", formerEndpointUrls: [shared] };
const now = { endpointUrl: `${shared}:80/` };

it.for([
  ["the store that is there now, listed last", shared, { old, now }, "now"],
  ["the store that is there now, listed first", shared, { now, old }, "now"],
  [
    "the default store, whatever shares its address",
    "https://ring.example.com",
    { a: { endpointUrl: "https://ring.example.com" } },
    "default",
  ],
] as const)("ID-4 an address alone means %s", ([, endpointUrl, list, expected]) => {
  const several = storesFrom({ endpointUrl: "https://ring.example.com", region: "us-east-1" }, list);
  expect(found(storeOf(several, { store: undefined, endpointUrl }))).toBe(expected);
});

it.for([
  ["present", { a: now, b: now }],
  ["former", { a: old, b: old }],
] as const)("ID-4 an address that is the %s one of two stores is refused, unless the store is named", ([, list]) => {
  const several = storesFrom({ endpointUrl: "https://ring.example.com", region: "us-east-1" }, list);
  expect(storeOf(several, { store: undefined, endpointUrl: shared })).toEqual({
    field: "endpointUrl",
    problem: `"${shared}" is the address of stores a and b`,
    fix: "name the store (store: a or b)",
  });
  expect(found(storeOf(several, { store: "b", endpointUrl: shared }))).toBe("b");
});

it.for([
  ["names nothing", {}, undefined],
  ["names the store", { store: "minio" }, undefined],
  ["names the store and an address that it had", { store: "minio", endpointUrl: "http://old.example.com" }, undefined],
  ["names another store", { store: "default", endpointUrl: "http://old.example.com" }, "store"],
  ["names a store that is not listed", { store: "gone" }, "store"],
  ["has another address", { store: "minio", endpointUrl: "https://ring.example.com" }, "endpointUrl"],
] as const)("ID-4 a reference that %s contradicts store minio: %j", ([, reference, field]) => {
  const { store, endpointUrl } = { store: undefined, endpointUrl: undefined, ...reference };
  expect(contradicts({ store, endpointUrl }, stores.get("minio" as StoreName) as Store)).toBe(field);
});
