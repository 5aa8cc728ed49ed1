import { beforeEach, expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { volumeCredentialFields } from "../../s3/credentials.ts";
import { SecretCredentials, secretSeen } from "./driver-credentials.ts";

const reference = { from: "secret", namespace: "storage", name: "s3-secret", fields: volumeCredentialFields } as const;
const encoded = (fields: Record<string, string>) => ({
  data: Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
  ),
});
const good = { access_key_id: "id", secret_access_key: "first" };

let credentials: SecretCredentials;
let version = 0;

const arrives = (fields: Record<string, string>) => {
  version += 1;
  credentials.store.put("storage/s3-secret", String(version), secretSeen(reference, encoded(fields)));
};

beforeEach(() => {
  credentials = new SecretCredentials(reference);
});

it("returns the current keys, also without waiting", async () => {
  expect(credentials.known()).toBeUndefined();
  arrives(good);
  credentials.store.complete();
  expect((await credentials.get(call)).secretAccessKey.reveal()).toBe("first");
  arrives({ ...good, secret_access_key: "second" });
  expect(credentials.known()?.secretAccessKey.reveal()).toBe("second");
});

it("calls listeners after every change", () => {
  const seen: unknown[] = [];
  using _ = credentials.onChange(() => seen.push(credentials.known()?.secretAccessKey.reveal()));
  arrives(good);
  arrives({ ...good, secret_access_key: "second" });
  credentials.store.remove("storage/s3-secret");
  expect(seen).toEqual(["first", "second", undefined]);
});

it("reports a missing Secret after the initial list", async () => {
  credentials.store.complete();
  await expect(credentials.get(call)).rejects.toThrow(
    "Secret storage/s3-secret with the keys of the driver does not exist",
  );
});

it("names the missing field, and never the content of the others", async () => {
  arrives({ access_key_id: "hunter2" });
  credentials.store.complete();
  await expect(credentials.get(call)).rejects.toThrow(
    "secret_access_key in Secret storage/s3-secret is missing or empty",
  );
  await expect(credentials.get(call)).rejects.not.toThrow("hunter2");
  expect(credentials.known()).toBeUndefined();
});
