import { expect, it } from "vitest";
import { defaultStore, type StoreName } from "./store.ts";
import { storesFrom } from "./store-list.ts";

const usual = { endpointUrl: "https://ring.example.com", region: "eu-west-3" };

function mistakesIn(list: Readonly<Record<string, unknown>>): string {
  try {
    storesFrom(usual, list);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

it("ID-4 without a list there is the default store alone, as in 2.x", () => {
  expect([...storesFrom(usual, {})]).toEqual([
    [
      defaultStore,
      {
        name: defaultStore,
        ...usual,
        formerEndpointUrls: [],
        pathStyle: true,
        caCertificates: undefined,
        uploadChecksums: undefined,
        credentials: undefined,
        sts: undefined,
      },
    ],
  ]);
});

it("ID-4 the list cannot change address or region of the default store, whose programs have settings of their own", () => {
  const list = { default: { endpointUrl: "https://other.example.com", region: "mars", uploadChecksums: "crc64nvme" } };
  expect(storesFrom(usual, list).get(defaultStore)).toMatchObject({ ...usual, uploadChecksums: "crc64nvme" });
});

it("ID-4 a listed store has the settings of the chart's values", () => {
  const stores = storesFrom(usual, {
    minio: {
      endpointUrl: "https://minio.example.com:9000",
      pathStyle: false,
      caCertData: "-----BEGIN CERTIFICATE-----",
      formerEndpointUrls: ["http://minio.example.com"],
      credentialSecret: { name: "minio-keys", accessKeyId: "id" },
      sts: { endpointUrl: "https://sts.example.com", durationSeconds: 900, provisioner: { enabled: true } },
      region: "",
      aMemberOfALaterVersion: 1,
    },
  });
  expect(stores.get("minio" as StoreName)).toEqual({
    name: "minio",
    endpointUrl: "https://minio.example.com:9000",
    region: "us-east-1",
    pathStyle: false,
    caCertificates: "-----BEGIN CERTIFICATE-----",
    uploadChecksums: undefined,
    formerEndpointUrls: ["http://minio.example.com"],
    credentials: {
      secret: "minio-keys",
      accessKeyIdField: "id",
      secretAccessKeyField: "secret_access_key",
      sessionTokenField: "session_token",
    },
    sts: {
      endpointUrl: "https://sts.example.com",
      caCertificates: undefined,
      audience: "sts.amazonaws.com",
      roleArn: undefined,
      sessionSeconds: 900,
      provisioner: { roleArn: undefined },
    },
  });
});

it.for([
  ["s3.stores.minio.endpointUrl must be set", { minio: {} }],
  ["s3.stores.minio.endpointUrl must be a URL", { minio: { endpointUrl: "minio:9000" } }],
  ["s3.stores.minio.endpointUrl must be a URL", { minio: { endpointUrl: "ftp://minio" } }],
  ["s3.stores.minio.endpointUrl must be a text", { minio: { endpointUrl: 9000 } }],
  ["s3.stores.Minio: the name must have", { Minio: { endpointUrl: "http://minio" } }],
  ["s3.stores.a@b: the name must have", { "a@b": { endpointUrl: "http://minio" } }],
  ["s3.stores.minio must be a map", { minio: "http://minio" }],
  ["s3.stores.minio.uploadChecksums must be one of", { minio: { endpointUrl: "http://m", uploadChecksums: "md5" } }],
  ["s3.uploadChecksums must be one of", { default: { uploadChecksums: "md5" } }],
  ["s3.stores.m.sts.endpointUrl must be a URL", { m: { endpointUrl: "http://m", sts: { endpointUrl: "sts" } } }],
  ["s3.sts.durationSeconds must be a number", { default: { sts: { endpointUrl: "http://s", durationSeconds: 899 } } }],
  ["s3.sts.durationSeconds must be a number", { default: { sts: { endpointUrl: "http://s", durationSeconds: "1h" } } }],
] as const)("ID-4 a mistake names the chart value: %s", ([text, list]) => {
  expect(mistakesIn(list)).toContain(text);
});

it.for([
  ["s3.stores.a.endpointUrl", { a: { endpointUrl: "https://me:hunter2@store" } }],
  ["s3.stores.a.endpointUrl", { a: { endpointUrl: "https://hunter2@store" } }],
  [
    "s3.stores.a.formerEndpointUrls",
    { a: { endpointUrl: "https://s", formerEndpointUrls: ["https://:hunter2@store"] } },
  ],
  ["s3.stores.a.sts.endpointUrl", { a: { endpointUrl: "https://s", sts: { endpointUrl: "https://me:hunter2@sts" } } }],
  ["s3.sts.endpointUrl", { default: { sts: { endpointUrl: "https://me:hunter2@sts" } } }],
] as const)("ID-4 %s with a user name or password is refused, and not shown", ([value, list]) => {
  const text = mistakesIn(list);
  expect(text).toContain(`${value} must not have a user name or password`);
  expect(text).not.toContain("hunter2");
});

it("ID-4 every mistake is told at once, and a password in an address is not", () => {
  const text = mistakesIn({ a: { endpointUrl: "me:hunter2@store" }, b: {} });
  expect(text).toContain("s3.stores.a.endpointUrl");
  expect(text).toContain("s3.stores.b.endpointUrl");
  expect(text).not.toContain("hunter2");
});
