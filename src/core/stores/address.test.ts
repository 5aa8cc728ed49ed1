import { expect, it } from "vitest";
import { mayBeSameStore } from "./address.ts";
import { defaultStore, type StoreName } from "./store.ts";
import { storesFrom } from "./store-list.ts";

const stores = storesFrom(
  { endpointUrl: "https://ring.example.com", region: "us-east-1" },
  {
    a: { endpointUrl: "http://minio.example.com" },
    again: { endpointUrl: "HTTP://minio.example.com:80/" },
    moved: { endpointUrl: "http://new.example.com", formerEndpointUrls: ["http://minio.example.com"] },
    ring: { endpointUrl: "https://ring.example.com:443" },
    other: { endpointUrl: "http://minio.example.com:9000" },
  },
);

it.for([
  ["have one name", "a", "a", true],
  ["have one address in two spellings", "a", "again", true],
  ["share a present and a former address", "a", "moved", true],
  ["have the address of the default store", "ring", defaultStore, true],
  ["are not both listed", "a", "gone", true],
  ["share no address", "a", "other", false],
  ["share no address, one being the default store", defaultStore, "a", false],
] as const)("DS-12 stores that %s may be the same: %s, %s", ([, one, other, expected]) => {
  expect(mayBeSameStore(stores, one as StoreName, other as StoreName)).toBe(expected);
  expect(mayBeSameStore(stores, other as StoreName, one as StoreName)).toBe(expected);
});
