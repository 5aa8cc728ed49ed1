import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { parseClassParameters } from "../domain/storage-class.ts";
import { storeForVolume } from "./store-for-volume.ts";

const list = {
  minio: { endpointUrl: "http://minio", formerEndpointUrls: ["http://before"] },
  cloud: { endpointUrl: "http://cloud", sts: { endpointUrl: "http://sts" } },
};
type Texts = Readonly<Record<string, string>>;

function chosen(parameters: Texts, secrets: Texts = {}, podIdentity = true) {
  const installation = { stores: storesWith(list), podIdentity };
  const { store, isNamed } = storeForVolume(installation, parseClassParameters(parameters, "pvc-1"), secrets);
  return [store.name, isNamed];
}

it.for([
  ["a class that names none", {}, {}, "default", false],
  ["a class that names it", { store: "minio" }, {}, "minio", true],
  ["a class that names the default store", { store: "default" }, {}, "default", true],
  ["a class with its address", { endpointUrl: "http://minio/" }, {}, "minio", true],
  ["a class with its former address", { endpointUrl: "http://before" }, {}, "minio", true],
  ["a class with name and address", { store: "minio", endpointUrl: "http://minio" }, {}, "minio", true],
  ["a Secret that names it", {}, { access_key_id: "a", store: "minio" }, "minio", true],
  ["a Secret with its address", {}, { access_key_id: "a", endpoint_url: "http://minio" }, "minio", true],
  // Whether they agree is checked when the credentials are used.
  ["a class, whatever the Secret says", { store: "minio" }, { store: "default" }, "minio", true],
  [
    "a class with pod identity, if the store has STS",
    { store: "cloud", authenticationSource: "pod" },
    {},
    "cloud",
    true,
  ],
] as const)("ID-4 the store of a volume is that of %s", ([, parameters, secrets, store, isNamed]) => {
  expect(chosen(parameters, secrets)).toEqual([store, isNamed]);
});

it.for([
  ["a name that is not listed", { store: "gone" }, {}, 'parameters.store "gone" is not a store', "s3.stores"],
  ["an address that is not listed", { endpointUrl: "http://x" }, {}, 'parameters.endpointUrl "http://x"', "s3.stores"],
  [
    "an address of another store",
    { store: "minio", endpointUrl: "http://cloud" },
    {},
    'parameters.endpointUrl "http://cloud" is not an address of store minio',
    "s3.stores.minio.formerEndpointUrls",
  ],
  [
    "a Secret for a store that is not listed",
    {},
    { store: "gone" },
    'store in the provisioner Secret "gone"',
    "s3.stores",
  ],
  [
    "a Secret with such an address",
    {},
    { endpoint_url: "http://x" },
    "endpoint_url in the provisioner Secret",
    "s3.stores",
  ],
  [
    "pod identity at a store without STS",
    { store: "minio", authenticationSource: "pod" },
    {},
    'parameters.authenticationSource "pod" needs STS, and store minio has none',
    "s3.stores.minio.sts.endpointUrl",
  ],
  [
    "pod identity at a default store without STS",
    { authenticationSource: "pod" },
    {},
    "the default store has none",
    "s3.sts.endpointUrl",
  ],
] as const)("ID-4 %s is refused with field and fix", ([, parameters, secrets, problem, fix]) => {
  const refused = () => chosen(parameters, secrets);
  expect(refused).toThrow(problem);
  expect(refused).toThrow(expect.objectContaining({ kind: "invalid", hint: expect.stringContaining(fix) }));
});

it("ID-1 pod identity is refused where the installation does not offer it", () => {
  expect(() => chosen({ store: "cloud", authenticationSource: "pod" }, {}, false)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('parameters.authenticationSource "pod" is not enabled'),
      hint: expect.stringContaining("podIdentity.enabled"),
    }),
  );
});
