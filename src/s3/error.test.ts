import { expect, it } from "vitest";
import type { StoreName } from "../core/stores/store.ts";
import { fromStore, storeError } from "./error.ts";

const usual = { name: "default" as StoreName, endpointUrl: "http://s3" };
const minio = { name: "minio" as StoreName, endpointUrl: "http://minio" };
const { signal } = new AbortController();

function refusal(store: typeof usual, named: { readonly name?: string; readonly code?: string }, httpStatus?: number) {
  const error = Object.assign(new Error("said"), named, { $metadata: { httpStatusCode: httpStatus } });
  return storeError(
    signal,
    "create bucket b",
    fromStore(error, store, (text) => text),
  );
}

it.for([
  [
    "an untrusted certificate",
    { code: "CERT_HAS_EXPIRED" },
    undefined,
    "tls.caCertConfigMap",
    "s3.stores.minio.caCertData",
  ],
  ["a wrong region", { name: "AuthorizationHeaderMalformed" }, 400, "s3.region", "s3.stores.minio.region"],
  [
    "an answer that is not from S3",
    {},
    404,
    "s3.endpointUrl, http://s3,",
    "s3.stores.minio.endpointUrl, http://minio,",
  ],
] as const)("ID-4 %s: the hint names the chart value of the store", ([, named, httpStatus, ofUsual, ofMinio]) => {
  expect(refusal(usual, named, httpStatus)).toMatchObject({ hint: expect.stringContaining(ofUsual) });
  expect(refusal(minio, named, httpStatus)).toMatchObject({ hint: expect.stringContaining(ofMinio) });
});

it("ID-4 a failure names the store, unless it is the default one", () => {
  expect(refusal(usual, { name: "AccessDenied" }, 403).message).toBe("could not create bucket b: AccessDenied: said");
  expect(refusal(minio, { name: "AccessDenied" }, 403).message).toBe(
    "could not create bucket b at store minio: AccessDenied: said",
  );
});
