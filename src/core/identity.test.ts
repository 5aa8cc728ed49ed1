import { expect, it } from "vitest";
import { accountIn, driverIdentity, parseIdentity, podIdentity, secretIdentity } from "./identity.ts";
import { defaultStore, type StoreName } from "./stores/store.ts";

const minio = "minio" as StoreName;
const account = { namespace: "team-a", name: "reader" };
const role = "arn:minio:iam:::role/pod:x/y@default";

it("SE-6 identities at the default store are the texts of earlier versions", () => {
  expect(driverIdentity(defaultStore)).toBe("driver");
  expect(secretIdentity({ namespace: "team-a", name: "keys" }, defaultStore)).toBe("secret:team-a/keys");
});

it("ID-1 ID-4 two mounts have one identity only if source, account, role and store are equal", () => {
  const identities = [
    driverIdentity(defaultStore),
    driverIdentity(minio),
    secretIdentity(account, defaultStore),
    secretIdentity(account, minio),
    podIdentity(account, undefined, defaultStore),
    podIdentity(account, undefined, minio),
    podIdentity(account, role, defaultStore),
    podIdentity(account, role, minio),
    podIdentity(account, `${role}2`, minio),
    podIdentity({ ...account, namespace: "team-b" }, role, minio),
    podIdentity({ ...account, name: "writer" }, role, minio),
  ];
  expect(new Set(identities).size).toBe(identities.length);
});

it.for([
  ["driver", driverIdentity(minio), "driver", minio],
  ["secret", secretIdentity(account, defaultStore), "secret", defaultStore],
  ["pod", podIdentity(account, undefined, minio), "pod", minio],
  ["pod with a role that has the separators", podIdentity(account, role, minio), "pod", minio],
  ["pod with a role at the default store", podIdentity(account, role, defaultStore), "pod", defaultStore],
] as const)("ID-4 source and store are read from the identity of %s", ([, identity, source, store]) => {
  expect(parseIdentity(identity)).toEqual({ source, store });
});

it.for(["", "other", "pods:a/b", "driver:x@"])(
  "ID-4 %j of another version is not taken for a known identity",
  (text) => {
    expect(parseIdentity(text)).toBeUndefined();
  },
);

it("ID-1 the account is read from an identity of an account only", () => {
  expect(accountIn(podIdentity(account, role, minio))).toEqual(account);
  expect(accountIn(secretIdentity(account, minio))).toBeUndefined();
});
