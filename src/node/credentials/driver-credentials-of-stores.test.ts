import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { call, credentialsOf } from "../../../test/support/fake-node.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import { DriverCredentialsOfStores } from "./driver-credentials-of-stores.ts";

const minio = "minio" as StoreName;
const endpointUrl = "http://minio:9000";

it.for([
  ["has no Secret", { minio: { endpointUrl } }, "s3.stores.minio.credentialSecret"],
  ["is not listed", {}, "s3.stores"],
  [
    "has a Secret in a namespace that manifests of 2.x do not name",
    { minio: { endpointUrl, credentialSecret: { name: "keys" } } },
    "s3CredentialSecret",
  ],
] as const)("ID-4 a store that %s does not get the keys of the default store", async ([, list, value]) => {
  const ofDefault = { from: "environment", credentials: credentialsOf("default") } as never;
  const drivers = new DriverCredentialsOfStores(storesWith(list), ofDefault);
  expect((await drivers.of(defaultStore).get(call)).accessKeyId.reveal()).toBe("default-id");
  expect(drivers.of(minio).known()).toBeUndefined();
  await expect(drivers.of(minio).get(call)).rejects.toMatchObject({
    kind: "notReady",
    hint: expect.stringContaining(value),
  });
});
