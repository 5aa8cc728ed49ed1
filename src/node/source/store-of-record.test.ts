import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { atPresentAddress, storeOfRecord } from "./store-of-record.ts";

function recordAt(store: string, address: string | undefined): Parameters<typeof storeOfRecord>[1] {
  const env = address === undefined ? {} : { AWS_ENDPOINT_URL: address };
  return {
    access: { source: "driver", store: store as StoreName },
    request: { bucket: "photos", args: [], env } as never,
  };
}

it.for([
  ["at its address", {}, "http://minio:9000"],
  ["that has moved", { formerEndpointUrls: ["http://old:9000"] }, "http://old:9000"],
] as const)("ID-4 a mount comes back from its record at a store %s, at the present address", ([, more, mountedAt]) => {
  const stores = storesWith({ minio: { endpointUrl: "http://minio:9000", ...more } });
  const record = recordAt("minio", mountedAt);
  const store = storeOfRecord(stores, record);
  expect(store.name).toBe("minio");
  expect(atPresentAddress(record, store).env["AWS_ENDPOINT_URL"]).toBe("http://minio:9000");
});

it("ID-4 a mount at the default store comes back at the address that it had, as before", () => {
  const record = recordAt("default", "http://former");
  const store = storeOfRecord(storesWith(), record);
  expect(atPresentAddress(record, store)).toBe(record.request);
});

it.for([
  ["is another one now", { minio: { endpointUrl: "http://other:9000" } }, "s3.stores.minio.formerEndpointUrls"],
  ["is not listed any more", {}, "s3.stores"],
] as const)("ID-4 a mount at a store that %s stays away, and the chart value is named", ([, list, value]) => {
  const record = recordAt("minio", "http://minio:9000");
  expect(() => storeOfRecord(storesWith(list), record)).toThrow(
    expect.objectContaining({ kind: "notReady", hint: expect.stringContaining(value) }),
  );
});
