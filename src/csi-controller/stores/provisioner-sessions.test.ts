import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { DriverError } from "../../core/errors.ts";
import type { Store, StoreName } from "../../core/stores/store.ts";
import { silentLogger } from "../../runtime/log.ts";
import { Secret } from "../../runtime/secret.ts";
import type { SessionRequest } from "../../s3/sts/sts-client.ts";
import { ProvisionerSessions } from "./provisioner-sessions.ts";

const sts = { endpointUrl: "http://sts", durationSeconds: 900 };
const stores = storesWith({
  minio: { endpointUrl: "http://m", sts: { ...sts, provisioner: { enabled: true, roleArn: "arn:aws:iam::1:role/p" } } },
  cloud: { endpointUrl: "http://c", sts: { ...sts, roleArn: "arn:aws:iam::1:role/w", provisioner: { enabled: true } } },
});
const minio = stores.get("minio" as StoreName) as Store;
const cloud = stores.get("cloud" as StoreName) as Store;
const call = { signal: new AbortController().signal, log: silentLogger };

let tokenDir: string;
let nowMs: number;
let asked: SessionRequest[];
let answer: (wanted: SessionRequest) => Promise<{ readonly lifeMs: number }>;
let sessions: ProvisionerSessions;

beforeEach(() => {
  tokenDir = mkdtempSync(join(tmpdir(), "tokens-"));
  for (const { name } of [minio, cloud]) writeFileSync(join(tokenDir, name), `token-of-${name}\n`);
  nowMs = 0;
  asked = [];
  answer = async () => ({ lifeMs: 900_000 });
  const session = async (_call: unknown, wanted: SessionRequest) => {
    asked.push(wanted);
    const key = new Secret(`key-${asked.length}`);
    const credentials = { accessKeyId: key, secretAccessKey: key, sessionToken: key };
    return { credentials, ...(await answer(wanted)) };
  };
  sessions = new ProvisionerSessions({ sts: { session }, tokenDir, nowMs: () => nowMs });
});

afterEach(() => rmSync(tokenDir, { recursive: true }));

const keyAt = async (store: Store) => (await sessions.credentials(call, store)).accessKeyId.reveal();

it("ID-1 each store gets the token for it, and the role of the provisioner, never that of workloads", async () => {
  await Promise.all([keyAt(minio), keyAt(cloud)]);
  expect(asked.map(({ store, token, role }) => [store.name, token.reveal(), role])).toEqual(
    expect.arrayContaining([
      ["minio", "token-of-minio", "arn:aws:iam::1:role/p"],
      ["cloud", "token-of-cloud", undefined],
    ]),
  );
});

it("ID-1 calls at the same time share one exchange, and later ones its session until five twelfths of its life are left", async () => {
  expect(await Promise.all([keyAt(minio), keyAt(minio)])).toEqual(["key-1", "key-1"]);
  nowMs = 400_000;
  expect(await keyAt(minio)).toBe("key-1");
  nowMs = 600_000;
  writeFileSync(join(tokenDir, "minio"), "newer");
  expect(await keyAt(minio)).toBe("key-2");
  expect(asked.at(-1)?.token.reveal()).toBe("newer");
});

it("ID-1 while STS is away, credentials are used until they end, and then its failure is reported", async () => {
  await keyAt(minio);
  answer = () => Promise.reject(new DriverError("notReady", "STS is away"));
  nowMs = 899_000;
  expect(await keyAt(minio)).toBe("key-1");
  nowMs = 900_000;
  await expect(keyAt(minio)).rejects.toThrow("STS is away");
  answer = async () => ({ lifeMs: 900_000 });
  expect(await keyAt(minio)).toBe("key-4");
});

it("ID-1 a caller that leaves does not take the exchange from the others", async () => {
  const gone = new AbortController();
  const held = Promise.withResolvers<{ readonly lifeMs: number }>();
  answer = () => held.promise;
  const first = sessions.credentials({ ...call, signal: gone.signal }, minio);
  const second = keyAt(minio);
  gone.abort(new Error("the caller left"));
  await expect(first).rejects.toThrow("the caller left");
  held.resolve({ lifeMs: 900_000 });
  expect(await second).toBe("key-1");
});

it.for([
  ["missing", () => rmSync(join(tokenDir, "minio")), "ENOENT"],
  ["empty", () => writeFileSync(join(tokenDir, "minio"), "\n"), "is empty"],
] as const)("ID-1 a token file that is %s is reported with the chart value", async ([, spoil, problem]) => {
  spoil();
  await expect(keyAt(minio)).rejects.toMatchObject({
    kind: "notReady",
    message: expect.stringContaining(problem),
    hint: expect.stringContaining("s3.stores.minio.sts.provisioner.enabled"),
  });
  expect(asked).toEqual([]);
});
