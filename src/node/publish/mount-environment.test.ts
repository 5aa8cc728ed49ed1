import { expect, it } from "vitest";
import { storesWith, usualStore } from "../../../test/support/fake-credentials.ts";
import type { Store, StoreName } from "../../core/stores/store.ts";
import { caBundleFiles } from "../credentials/ca-bundle.ts";
import { mountEnvironment } from "./mount-environment.ts";

const always = { AWS_ENDPOINT_URL: "http://s3", AWS_REGION: "us-east-1", AWS_EC2_METADATA_DISABLED: "true" };

it.for([
  [{}, {}, {}],
  [{ HTTPS_PROXY: "http://a" }, {}, { HTTPS_PROXY: "http://a" }],
  [{ HTTPS_PROXY: "http://a" }, { HTTPS_PROXY: "http://b" }, { HTTPS_PROXY: "http://b" }],
  [{ HTTPS_PROXY: "http://a" }, { HTTPS_PROXY: "" }, {}],
  [{}, { AWS_MAX_ATTEMPTS: "5", NO_PROXY: "svc" }, { AWS_MAX_ATTEMPTS: "5", NO_PROXY: "svc" }],
] as const)("driver %j, volume %j → %j", ([proxy, fromVolume, expected]) => {
  expect(mountEnvironment({ proxy }, usualStore, fromVolume)).toEqual({ ...always, ...expected });
});

it("does not let a volume change the endpoint to which credentials are sent", () => {
  expect(mountEnvironment({ proxy: {} }, usualStore, { AWS_ENDPOINT_URL: "http://thief" })).toEqual(always);
});

it("ID-4 mount-s3 gets address, region and certificates of the store, and a volume cannot change them", () => {
  const thief = { AWS_CA_BUNDLE: "/thief", AWS_REGION: "thief" };
  const ca = "-----BEGIN CERTIFICATE-----";
  const stores = storesWith({ minio: { endpointUrl: "https://minio", region: "here", caCertData: ca } });
  const store = stores.get("minio" as StoreName) as Store;
  const environment = mountEnvironment({ proxy: {} }, store, thief);
  expect(environment).toMatchObject({ AWS_ENDPOINT_URL: "https://minio", AWS_REGION: "here" });
  expect(Object.keys(caBundleFiles(store)).map((file) => `/${file}`)).toEqual([
    expect.stringMatching(`${environment["AWS_CA_BUNDLE"]?.replace(/.*(?=\/)/, "")}$`),
  ]);
  expect(Object.values(caBundleFiles(store)).join()).toContain(ca);
});
