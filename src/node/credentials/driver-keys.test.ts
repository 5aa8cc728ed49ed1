import { beforeEach, expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { volumeCredentialFields } from "../../s3/credentials.ts";
import { SecretKeys, secretSeen } from "./driver-keys.ts";

const reference = { from: "secret", namespace: "storage", name: "s3-secret", fields: volumeCredentialFields } as const;
const encoded = (fields: Record<string, string>) => ({
  data: Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
  ),
});
const good = { access_key_id: "id", secret_access_key: "first" };

let keys: SecretKeys;
let version = 0;

const arrives = (fields: Record<string, string>) => {
  version += 1;
  keys.store.put("storage/s3-secret", String(version), secretSeen(reference, encoded(fields)));
};

beforeEach(() => {
  keys = new SecretKeys(reference);
});

it("returns the current keys, also without waiting", async () => {
  expect(keys.known()).toBeUndefined();
  arrives(good);
  keys.store.complete();
  expect((await keys.get(call)).secretAccessKey.reveal()).toBe("first");
  arrives({ ...good, secret_access_key: "second" });
  expect(keys.known()?.secretAccessKey.reveal()).toBe("second");
});

it("calls listeners after every change", () => {
  const seen: unknown[] = [];
  using _ = keys.onChange(() => seen.push(keys.known()?.secretAccessKey.reveal()));
  arrives(good);
  arrives({ ...good, secret_access_key: "second" });
  keys.store.remove("storage/s3-secret");
  expect(seen).toEqual(["first", "second", undefined]);
});

it("reports a missing Secret after the initial list", async () => {
  keys.store.complete();
  await expect(keys.get(call)).rejects.toThrow("Secret storage/s3-secret with the keys of the driver does not exist");
});

it("names the missing field, and never the content of the others", async () => {
  arrives({ access_key_id: "hunter2" });
  keys.store.complete();
  await expect(keys.get(call)).rejects.toThrow("secret_access_key in Secret storage/s3-secret is missing or empty");
  await expect(keys.get(call)).rejects.not.toThrow("hunter2");
  expect(keys.known()).toBeUndefined();
});
