import { expect, it } from "vitest";
import { storesWith } from "../../test/support/fake-credentials.ts";
import { DriverError } from "../core/errors.ts";
import { silentLogger } from "../runtime/log.ts";
import type { BucketAccess, Buckets } from "./buckets.ts";
import { checkStores } from "./check-store.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const credentialSecret = { name: "keys" };
const stores = storesWith({
  minio: { endpointUrl: "http://minio", credentialSecret },
  bare: { endpointUrl: "http://bare" },
});

/** `open`: opening fails, `list`: the list of buckets fails. */
async function checked(failures: Readonly<Record<string, { readonly open?: Error; readonly list?: Error }>>) {
  return await checkStores(call, stores, async (_call, { store }: BucketAccess) => {
    const { open, list } = failures[store] ?? {};
    if (open !== undefined) throw open;
    return {
      async *names() {
        if (list !== undefined) throw list;
        yield "bucket";
      },
    } as unknown as Buckets;
  });
}

const denied = new DriverError("denied", "no right");

it("ID-4 every store is checked by its name, unless the driver has no credentials for it", async () => {
  expect(await checked({ bare: { open: denied } })).toEqual({
    ok: true,
    stores: [
      { name: "default", endpointUrl: "http://s3", result: "ok" },
      { name: "minio", endpointUrl: "http://minio", result: "ok" },
      { name: "bare", endpointUrl: "http://bare", result: "not tried", problem: expect.any(String) },
    ],
  });
});

it("ID-4 the failure of one store is reported with its name, and the others are still checked", async () => {
  const list = new DriverError("notReady", "ECONNREFUSED", { hint: "Check it." });
  const result = await checked({ minio: { list } });
  expect(result).toMatchObject({ ok: false, problem: "Store minio (http://minio): ECONNREFUSED Check it." });
  expect(result.stores.map((each) => each.result)).toEqual(["ok", "failed", "not tried"]);
  // As before there were several stores.
  expect((await checked({ default: { list } })).problem).toBe("ECONNREFUSED Check it.");
});

it("ID-4 a Secret that the API server does not show fails its store, and the others are still checked", async () => {
  const result = await checked({ minio: { open: new Error("secrets are forbidden") } });
  expect(result.stores.map((each) => each.result)).toEqual(["ok", "failed", "not tried"]);
  expect(result.problem).toContain("secrets are forbidden");
});

it("ID-4 an account that may not list buckets is fine, and one to which STS gives no credentials is not", async () => {
  expect((await checked({ minio: { list: denied } })).ok).toBe(true);
  expect(await checked({ minio: { open: denied } })).toMatchObject({
    ok: false,
    problem: expect.stringContaining("no right"),
  });
});
