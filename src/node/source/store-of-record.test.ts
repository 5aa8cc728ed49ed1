import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { atPresentStore, storeOfRecord } from "./store-of-record.ts";

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
  expect(atPresentStore(record, store).env["AWS_ENDPOINT_URL"]).toBe("http://minio:9000");
});

it("ID-4 the default store counts as moved, as in 2.x: a mount comes back at the present address", () => {
  const record = recordAt("default", "http://former");
  const store = storeOfRecord(storesWith(), record);
  expect(atPresentStore(record, store).env["AWS_ENDPOINT_URL"]).toBe("http://s3");
});

it("ID-4 a mount comes back with the region and the authority that its store has now", () => {
  const { request, access } = recordAt("minio", "http://minio:9000");
  const recorded = { ...request.env, AWS_REGION: "former", AWS_CA_BUNDLE: "/former", HTTPS_PROXY: "http://proxy" };
  const record = { access, request: { ...request, env: recorded } };
  const now = (more: object) => {
    const stores = storesWith({ minio: { endpointUrl: "http://minio:9000", region: "here", ...more } });
    return atPresentStore(record, storeOfRecord(stores, record)).env;
  };
  const kept = { AWS_ENDPOINT_URL: "http://minio:9000", AWS_REGION: "here", HTTPS_PROXY: "http://proxy" };
  expect(now({})).toEqual(kept);
  expect(now({ caCertData: "-----BEGIN CERTIFICATE-----" })).toEqual({
    ...kept,
    AWS_CA_BUNDLE: expect.stringMatching(/ca-bundle\.pem$/),
  });
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
