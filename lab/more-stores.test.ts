import { expect, it } from "vitest";
import { minioValues, storeNamed } from "./more-stores.ts";

it("a store is named by --store, and no store by none", () => {
  expect(storeNamed("minio")).toBe("minio");
  expect(storeNamed(undefined)).toBeUndefined();
});

it.for(["", "ceph", "versitygw"])(
  "a store that no lab can have is refused with those that it can have: '%s'",
  (given) => {
    expect(() => storeNamed(given)).toThrow(`there is no store "${given}" for a lab`);
  },
);

it("every value of MinIO names the store or turns on what its STS needs", () => {
  expect(minioValues.map((value) => value.replace(/=.*/, ""))).toEqual([
    "podIdentity.enabled",
    ...["endpointUrl", "region", "credentialSecret.name", "sts.endpointUrl"].map((name) => `s3.stores.minio.${name}`),
  ]);
});
