import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { defaultStore, type Store, type StoreName } from "../../core/stores/store.ts";
import { silentLogger } from "../../runtime/log.ts";
import { Secret } from "../../runtime/secret.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import type { Access } from "../../s3/object-store.ts";
import type { Buckets, Secrets } from "../buckets.ts";
import { driverCredentials } from "./driver-credentials.ts";
import { bucketsOf } from "./open-buckets.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const minio = "minio" as StoreName;
const list = {
  minio: { endpointUrl: "http://minio", region: "eu-1", credentialSecret: { name: "minio-keys", accessKeyId: "id" } },
  bare: { endpointUrl: "http://bare" },
  old: { endpointUrl: "http://new", formerEndpointUrls: ["http://old"], credentialSecret: { name: "old-keys" } },
  sts: { endpointUrl: "http://sts", sts: { endpointUrl: "http://sts", provisioner: { enabled: true } } },
};
const encoded = (values: Secrets) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
const secrets: Readonly<Record<string, Secrets>> = {
  "release/s3-secret": { access_key_id: "of-default", secret_access_key: "x" },
  "release/minio-keys": { id: "of-minio", secret_access_key: "x" },
  "release/old-keys": { access_key_id: "of-old", secret_access_key: "x" },
};
const fields = { accessKeyId: "access_key_id", secretAccessKey: "secret_access_key", sessionToken: "session_token" };
const inSecret: DriverCredentialsConfig = { from: "secret", namespace: "release", name: "s3-secret", fields };

/** What reached which store: every key that a request to it would be signed with, and the region. */
function installation({ namespace }: { readonly namespace: string | undefined } = { namespace: "release" }) {
  const sent: { readonly store: string; readonly key: string; readonly region: string }[] = [];
  const client = {
    get: async (_call: unknown, _kind: unknown, ref: { readonly namespace?: string; readonly name: string }) => {
      const data = secrets[`${ref.namespace}/${ref.name}`];
      return data && { data: encoded(data) };
    },
  };
  const ofSts = new Secret("of-sts");
  const sessions = {
    credentials: async () => ({ accessKeyId: ofSts, secretAccessKey: ofSts, sessionToken: ofSts }),
  };
  const credentials = driverCredentials({ client: client as never, ofDefault: inSecret, namespace, sessions });
  const objectStores = {
    of: ({ name }: Store) => ({
      as: (access: Access) => {
        sent.push({ store: name, key: access.credentials.accessKeyId.reveal(), region: access.region });
        return {} as Buckets;
      },
    }),
  };
  const openBuckets = bucketsOf({ stores: storesWith(list), objectStores, driverCredentials: credentials });
  const open = (store: StoreName, given: Secrets = {}, region?: string) =>
    openBuckets(call, { store, secrets: given, region });
  return { open, sent };
}

const tenant = { access_key_id: "of-tenant", secret_access_key: "x" };

it.for([
  [defaultStore, "of-default", "us-east-1"],
  [minio, "of-minio", "eu-1"],
  ["sts", "of-sts", "us-east-1"],
] as const)("ID-4 the driver's own credentials at store %s are those of that store", async ([store, key, region]) => {
  const { open, sent } = installation();
  await open(store as StoreName);
  expect(sent).toEqual([{ store, key, region }]);
});

it("ID-4 the region of the StorageClass comes before that of the Secret, and that before the store's", async () => {
  const { open, sent } = installation();
  await open(minio, tenant);
  await open(minio, { ...tenant, region: "of-secret" });
  await open(minio, { ...tenant, region: "of-secret" }, "of-class");
  expect(sent.map(({ region }) => region)).toEqual(["eu-1", "of-secret", "of-class"]);
});

it.for([
  ["by its name", minio, { store: "minio" }],
  ["by its address, in another spelling", minio, { endpoint_url: "HTTP://minio:80/" }],
  ["by an address that it had", "old", { endpoint_url: "http://old" }],
  ["by both", minio, { store: " minio ", endpoint_url: "http://minio" }],
  ["not at all", minio, { store: "", endpoint_url: " " }],
] as const)("ID-4 a Secret that names the store of the volume %s is used there", async ([, store, named]) => {
  const { open, sent } = installation();
  await open(store as StoreName, { ...tenant, ...named });
  expect(sent).toMatchObject([{ store, key: "of-tenant" }]);
});

it.for([
  [defaultStore, { store: "minio" }, /store in the provisioner Secret is "minio", and the volume is on store default/],
  [minio, { store: "default" }, /store in the provisioner Secret is "default", and the volume is on store minio/],
  [minio, { endpoint_url: "http://s3" }, /endpoint_url in the provisioner Secret is "http:\/\/s3", and the volume/],
  [minio, { endpoint_url: "http://elsewhere" }, /endpoint_url in the provisioner Secret is "http:\/\/elsewhere"/],
  [minio, { store: "minio", endpoint_url: "http://bare" }, /endpoint_url in the provisioner Secret is/],
  [defaultStore, { store: "gone" }, /store in the provisioner Secret is "gone"/],
] as const)(
  "ID-4 on store %s, the credentials of a Secret with %j are sent nowhere",
  async ([store, named, problem]) => {
    const { open, sent } = installation();
    const refused = open(store, { ...tenant, ...named });
    await expect(refused).rejects.toThrow(problem);
    await expect(refused).rejects.toMatchObject({ kind: "invalid", hint: expect.stringContaining("In the Secret") });
    expect(sent).toEqual([]);
  },
);

it("ID-4 a store that is not listed any more is refused with the chart value to restore, and nothing is sent", async () => {
  const { open, sent } = installation();
  await expect(open("gone" as StoreName, tenant)).rejects.toMatchObject({
    message: expect.stringContaining("store gone, which is not a store of this installation any more"),
    hint: expect.stringContaining("Restore the chart value s3.stores.gone"),
  });
  expect(sent).toEqual([]);
});

it.for([
  ["without a Secret of the driver", "bare", "release", "chart value s3.stores.bare.credentialSecret.name is not set"],
  ["whose Secret is missing", "minio", "other", "Secret other/minio-keys does not exist"],
  ["under manifests of 2.x", "minio", undefined, "POD_NAMESPACE"],
] as const)("ID-4 at a store %s, the credentials of no other store are used", async ([, store, namespace, problem]) => {
  const { open, sent } = installation({ namespace });
  await expect(open(store as StoreName)).rejects.toThrow(problem);
  expect(sent).toEqual([]);
});
