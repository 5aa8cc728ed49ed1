import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { tokenOf } from "../../../test/support/service-account-token.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import { requestedAccess } from "./requested-access.ts";

const stores = storesWith({
  minio: { endpointUrl: "http://minio:9000", sts: { endpointUrl: "http://minio:9000", audience: "minio" } },
});
const keys = { access_key_id: "id", secret_access_key: "key" };
const pod = {
  "csi.storage.k8s.io/pod.namespace": "team-a",
  "csi.storage.k8s.io/serviceAccount.name": "reader",
  "csi.storage.k8s.io/serviceAccount.tokens": JSON.stringify({
    minio: { token: tokenOf("system:serviceaccount:team-a:reader") },
  }),
};

function requested(
  attributes: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>> = {},
  podIdentity = true,
) {
  const parsed = parseVolumeAttributes({ bucketName: "photos", ...attributes });
  return requestedAccess({ stores, podIdentity }, parsed, { secrets, volumeContext: { ...pod, ...attributes } });
}

it.for([
  ["nothing", {}, {}, "default"],
  ["the volume", { store: "minio" }, {}, "minio"],
  ["the address in the volume", { endpointUrl: "http://minio:9000" }, {}, "minio"],
  ["the Secret", { authenticationSource: "secret" }, { ...keys, store: "minio" }, "minio"],
  [
    "the address in the Secret",
    { authenticationSource: "secret" },
    { ...keys, endpoint_url: " http://minio:9000\n" },
    "minio",
  ],
  ["volume and Secret", { authenticationSource: "secret", store: "minio" }, { ...keys, store: "minio" }, "minio"],
] as const)("ID-4 the store is named by %s", ([, attributes, secrets, store]) => {
  const access = requested(attributes, secrets);
  expect([access.store.name, access.access.store]).toEqual([store, store]);
});

it("ID-4 the Secret of its Pods does not move a dynamic volume from the default store, where it was created", () => {
  const dynamic = { dynamicProvisioning: "true", authenticationSource: "secret" };
  expect(requested(dynamic, keys).store.name).toBe("default");
  expect(requested({ ...dynamic, store: "minio" }, { ...keys, store: "minio" }).store.name).toBe("minio");
  for (const named of [{ store: "minio" }, { endpoint_url: "http://minio:9000" }]) {
    expect(() => requested(dynamic, { ...keys, ...named })).toThrow("names another store than the volume");
  }
});

it("ID-4 where two stores have one address, a Secret with the address or the name goes with a volume that names the store", () => {
  const both = storesWith({ a: { endpointUrl: "http://minio" }, b: { endpointUrl: "http://minio" } });
  const attributes = parseVolumeAttributes({ bucketName: "photos", authenticationSource: "secret", store: "b" });
  for (const named of [{ endpoint_url: "http://minio" }, { store: "b", endpoint_url: "http://minio" }]) {
    const request = { secrets: { ...keys, ...named }, volumeContext: {} };
    expect(requestedAccess({ stores: both, podIdentity: false }, attributes, request).store.name).toBe("b");
  }
  const other = { secrets: { ...keys, store: "a" }, volumeContext: {} };
  expect(() => requestedAccess({ stores: both, podIdentity: false }, attributes, other)).toThrow("another store");
});

it.for([
  ["store of the volume", { store: "azure" }, {}, "volumeAttributes.store"],
  ["address of the volume", { endpointUrl: "http://evil" }, {}, "volumeAttributes.endpointUrl"],
  ["store of the Secret", {}, { store: "azure" }, "store in the Secret named by nodePublishSecretRef"],
  [
    "address of the Secret",
    {},
    { endpoint_url: "http://evil" },
    "endpoint_url in the Secret named by nodePublishSecretRef",
  ],
  ["Secret of another store", { store: "minio" }, { store: "default" }, "names another store than the volume"],
  [
    "Secret of another address",
    { store: "default" },
    { endpoint_url: "http://minio:9000" },
    "endpoint_url in the Secret",
  ],
] as const)("ID-4 keys go to no store that is not listed or not meant: %s", ([, attributes, secrets, text]) => {
  const own = { authenticationSource: "secret", ...attributes };
  expect(() => requested(own, { ...keys, ...secrets })).toThrow(
    expect.objectContaining({ kind: "invalid", message: expect.stringContaining(text) }),
  );
});

it("ID-4 a Secret that is not used does not choose the store for the driver's credentials", () => {
  expect(requested({ authenticationSource: "driver" }, { ...keys, store: "minio" }).access).toEqual({
    source: "driver",
    store: "default",
  });
});

it("ID-1 credentials are those of the service account that kubelet names, with its token", () => {
  const { access, token } = requested({
    authenticationSource: "pod",
    store: "minio",
    roleArn: "arn:minio:iam:::role/x",
  });
  expect(access).toEqual({
    source: "pod",
    store: "minio",
    account: { namespace: "team-a", name: "reader" },
    role: "arn:minio:iam:::role/x",
  });
  expect(token?.reveal()).toBe(tokenOf("system:serviceaccount:team-a:reader"));
});

it("ID-1 tokens among the secrets are no keys: a volume without a Secret uses the driver's", () => {
  const tokens = { "csi.storage.k8s.io/serviceAccount.tokens": "{}" };
  expect(requested({ authenticationSource: "secret" }, tokens).access.source).toBe("driver");
});

it.for([
  [
    "the installation does not offer it",
    { authenticationSource: "pod", store: "minio" },
    {},
    false,
    "podIdentity.enabled",
  ],
  ["the store has no STS", { authenticationSource: "pod" }, {}, true, "s3.sts.endpointUrl"],
  [
    "kubelet does not name the account",
    { authenticationSource: "pod", store: "minio", "csi.storage.k8s.io/serviceAccount.name": "" },
    {},
    true,
    "podInfoOnMount",
  ],
] as const)("ID-3 a refusal says what to set if %s", ([, attributes, secrets, isOffered, hint]) => {
  expect(() => requested(attributes, secrets, isOffered)).toThrow(
    expect.objectContaining({ kind: "invalid", hint: expect.stringContaining(hint) }),
  );
});
