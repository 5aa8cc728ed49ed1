import { expect, it } from "vitest";
import { mapStorage } from "../../../test/support/fake-healing.ts";
import { podIdentity } from "../../core/identity.ts";
import { defaultStore } from "../../core/stores/store.ts";
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
  };
}

it("ID-2 sessions outlive the process, each under a name that a file may have", () => {
  const storage = mapStorage();
  for (const forRole of [undefined, role]) new SessionStorage(storage).write(stored(forRole));

  const [first, second, ...more] = new SessionStorage(storage).all();
  expect([...storage.files.keys()].every((name) => /^session-[0-9a-f]{32}$/.test(name))).toBe(true);
  expect([first?.identity, second?.identity, more]).toEqual(["pod:team-a/reader", `pod:team-a/reader#${role}`, []]);
  expect(second?.access).toEqual(stored(role).access);
  expect(second?.session.endsAtMs).toBe(900_000);
  expect(second?.session.credentials.sessionToken?.reveal()).toBe("session");
});

it("ID-2 a session that is not needed any more is removed, and no other", () => {
  const storage = mapStorage();
  const sessions = new SessionStorage(storage);
  for (const forRole of [undefined, role]) sessions.write(stored(forRole));
  sessions.remove(stored(undefined).identity);
  expect(sessions.all().map(({ access }) => access.role)).toEqual([role]);
});

it("ID-2 records of mounts and sessions are not mistaken for each other", () => {
  const storage = mapStorage();
  new SessionStorage(storage).write(stored(undefined));
  expect(new MountRecords(storage).mountpointPods).toEqual([]);
  storage.write("mp-1234", JSON.stringify({ record: { keys: null }, users: {} }));
  expect(new SessionStorage(storage).all()).toHaveLength(1);
});

it.for(["", "{}", "null", '{"identity":"pod:a/b","keys":["id","key"],"endsAtMs":1,"renewAtMs":1}'])(
  "ID-2 a text of another version is no session: %j",
  (text) => {
    const storage = mapStorage();
    storage.write("session-00", text);
    expect(new SessionStorage(storage).all()).toEqual([]);
  },
);
