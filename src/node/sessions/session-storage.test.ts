import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { mapStorage } from "../../../test/support/fake-healing.ts";
import { podIdentity } from "../../core/identity.ts";
import { defaultStore } from "../../core/stores/store.ts";
import { storesFrom } from "../../core/stores/store-list.ts";
import { Secret } from "../../runtime/secret.ts";
import { MountRecords } from "../records/mount-records.ts";
import { SessionStorage, type StoredSession } from "./session-storage.ts";

const account = { namespace: "team-a", name: "reader" };
const role = "arn:aws:iam::1:role/a/b";

function stored(forRole: string | undefined): StoredSession {
  const credentials = {
    accessKeyId: new Secret("id"),
    secretAccessKey: new Secret("key"),
    sessionToken: new Secret("session"),
  };
  return {
    identity: podIdentity(account, forRole, defaultStore),
    access: { source: "pod", store: defaultStore, account, role: forRole },
    session: { credentials, endsAtMs: 900_000, renewAtMs: 600_000 },
    issuedBy: { endpointUrl: "http://s3", stsEndpointUrl: "http://sts" },
    accountRole: forRole === undefined ? { role: undefined } : undefined,
  };
}

const sts = { endpointUrl: "http://sts", durationSeconds: 900 };
const stores = storesWith({ default: { sts } });
const storesAt = (endpointUrl: string, more: object = {}) =>
  storesFrom({ endpointUrl, region: "us-east-1" }, { default: { sts, ...more } });
const usable = (storage: ReturnType<typeof mapStorage>, at = stores, nowMs = 0) =>
  new SessionStorage(storage).usable(at, nowMs);

it("ID-2 sessions outlive the process, each under a name that a file may have", () => {
  const storage = mapStorage();
  for (const forRole of [undefined, role]) new SessionStorage(storage).write(stored(forRole));

  const [first, second, ...more] = usable(storage);
  expect([...storage.files.keys()].every((name) => /^session-[0-9a-f]{32}$/.test(name))).toBe(true);
  expect([first?.identity, second?.identity, more]).toEqual(["pod:team-a/reader", `pod:team-a/reader#${role}`, []]);
  expect([first?.accountRole, second?.accountRole]).toEqual([{}, undefined]);
  expect(second?.access).toEqual(stored(role).access);
  expect(second?.session.endsAtMs).toBe(900_000);
  expect(second?.session.credentials.sessionToken?.reveal()).toBe("session");
});

it("ID-2 a session that is not needed any more is removed, and no other", () => {
  const storage = mapStorage();
  const sessions = new SessionStorage(storage);
  for (const forRole of [undefined, role]) sessions.write(stored(forRole));
  sessions.remove(stored(undefined).identity);
  expect(usable(storage).map(({ access }) => access.role)).toEqual([role]);
});

it("ID-2 records of mounts and sessions are not mistaken for each other", () => {
  const storage = mapStorage();
  new SessionStorage(storage).write(stored(undefined));
  expect(new MountRecords(storage).mountpointPods).toEqual([]);
  storage.write("mp-1234", JSON.stringify({ record: { keys: null }, users: {} }));
  expect(usable(storage)).toHaveLength(1);
  expect(storage.files.has("mp-1234")).toBe(true);
});

it.for([
  "",
  "{}",
  "null",
  '{"identity":"pod:a/b","keys":["id","key"],"endsAtMs":1,"renewAtMs":1}',
  '{"identity":"pod:a/b","keys":["id","key","session"],"endsAtMs":1,"renewAtMs":1}',
])("ID-2 a text of another version is no session, and is removed: %j", (text) => {
  const storage = mapStorage();
  storage.write("session-00", text);
  expect([usable(storage), storage.files.size]).toEqual([[], 0]);
});

it.for(["endsAtMs", "renewAtMs"])(
  "ID-2 a session whose times are no numbers never ends, and is not used: %s",
  (field) => {
    const storage = mapStorage();
    new SessionStorage(storage).write(stored(undefined));
    for (const [name, text] of storage.files) {
      storage.write(name, JSON.stringify({ ...(JSON.parse(text) as object), [field]: undefined }));
    }
    expect(usable(storage)).toEqual([]);
  },
);

const elsewhere = { endpointUrl: "http://other" };

it.for([
  ["the store has another address", storesAt("http://other"), 0],
  ["its STS has another address", storesWith({ default: { sts: elsewhere } }), 0],
  ["its store has no STS any more", storesWith(), 0],
  ["it has more time left than sessions have", stores, -1],
] as const)("ID-2 ID-4 a session is not used, and is removed, if %s", ([, at, nowMs]) => {
  const storage = mapStorage();
  new SessionStorage(storage).write(stored(undefined));
  expect([usable(storage, at, nowMs), storage.files.size]).toEqual([[], 0]);
});

it("ID-4 a session is used at a store that has moved and lists its former address", () => {
  const storage = mapStorage();
  new SessionStorage(storage).write(stored(undefined));
  const moved = storesAt("http://other", { formerEndpointUrls: ["http://s3/"] });
  expect(usable(storage, moved)).toHaveLength(1);
});
