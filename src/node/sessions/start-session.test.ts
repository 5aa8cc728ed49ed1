import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { call } from "../../../test/support/fake-node.ts";
import {
  access,
  account,
  busy,
  credentialsWithToken,
  minute,
  refused,
  SessionWorld,
  started,
  token,
} from "../../../test/support/session-world.ts";
import { DriverError } from "../../core/errors.ts";
import type { PodAccess } from "../credentials/access.ts";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

it.for([
  ["the volume", "arn:aws:iam::1:role/of-volume", "arn:aws:iam::1:role/of-account", "arn:aws:iam::1:role/of-volume"],
  ["the account", undefined, "arn:aws:iam::1:role/of-account", "arn:aws:iam::1:role/of-account"],
  ["the store", undefined, undefined, "arn:aws:iam::1:role/of-store"],
] as const)("ID-1 the role is that of %s", async ([, ofVolume, ofAccount, role]) => {
  await using world = new SessionWorld();
  world.role = ofAccount;
  world.sessions.offer({ ...access, role: ofVolume }, token());
  await world.sessions.get(call, { ...access, role: ofVolume });
  expect(world.asked).toMatchObject([{ role, sessionName: "team-a.reader" }]);
});

it("ID-1 credentials of an identity are not those of another", async () => {
  await using world = new SessionWorld();
  await started(world);
  const others = [
    { ...access, role: "arn:aws:iam::1:role/x" },
    { ...access, account: { ...account, namespace: "team-b" } },
    { ...access, account: { ...account, name: "writer" } },
  ];
  for (const other of others) {
    expect(world.sessions.known(other)).toBeUndefined();
    await expect(world.sessions.get(call, other)).rejects.toMatchObject({ kind: "notReady" });
  }
});

it("ID-3 a store that has lost its STS is named, with the chart value", async () => {
  await using world = new SessionWorld({ stores: storesWith() });
  world.sessions.offer(access, token());
  await expect(world.sessions.get(call, access)).rejects.toMatchObject({
    kind: "invalid",
    hint: expect.stringContaining("s3.sts.endpointUrl"),
  });
});

const other = token(2_000_000_900);

it.for([
  ["ends later", other, token()],
  ["ends earlier", token(), other],
] as const)("ID-2 a token that STS refused blocks no other token of the account, which %s", async ([, good, bad]) => {
  await using world = new SessionWorld();
  world.answer = async () => {
    if (world.asked.at(-1)?.token === bad) throw refused;
    return { credentials: credentialsWithToken("good"), lifeMs: 15 * minute };
  };
  world.sessions.offer(access, bad);
  await expect(world.sessions.get(call, access)).rejects.toBe(refused);
  world.sessions.offer(access, good);
  world.sessions.offer(access, bad);
  await world.sessions.get(call, access);
  expect(world.key).toBe("good-id");
});

it("ID-2 while renewals fail, calls of kubelet ask STS again only if they bring a better token", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(busy);
  await vi.advanceTimersByTimeAsync(20 * minute);
  const before = world.asked.length;
  for (let index = 0; index < 10; index += 1) {
    world.sessions.offer(access, token())[Symbol.dispose]();
    await world.rechecks();
  }
  expect(world.asked.length - before).toBeLessThanOrEqual(1);
  world.works();
  world.sessions.offer(access, other)[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  expect(world.key).toBeDefined();
});

it("ID-2 a token that was refused is tried again while there is no other, and the refusal stays the reason", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(refused);
  await vi.advanceTimersByTimeAsync(12 * minute);
  expect(world.changes.at(-1)).toMatchObject({ kind: "failed", ended: false, error: refused });
  world.works();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(world.changes.at(-1)).toMatchObject({ kind: "renewed", wasReported: true });
});

const ofAccount = "arn:aws:iam::1:role/of-account";

const apiServerAway = async () => {
  throw new DriverError("notReady", "service account team-a/reader cannot be read");
};

it("ID-2 an outage of the API server ends no session: the last role of the account is used, also after a restart", async () => {
  await using first = new SessionWorld();
  first.role = ofAccount;
  await started(first);
  first.roleOf = apiServerAway;
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(first.asked.map(({ role }) => role)).toEqual([ofAccount, ofAccount]);

  await using second = new SessionWorld({}, first.stored);
  second.roleOf = apiServerAway;
  second.sessions.offer(access, token());
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(second.asked.map(({ role }) => role)).toEqual([ofAccount]);
  expect([...first.changes, ...second.changes].filter(({ kind }) => kind === "failed")).toEqual([]);
});

it("ID-2 an account that is gone gets no session with its last role", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.roleOf = async () => {
    throw refused;
  };
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.asked).toHaveLength(1);
  expect(world.changes.at(-1)).toMatchObject({ kind: "failed", error: refused });
});

it("ID-4 a session is not used when the name of its store has been given to another, and the next token renews it", async () => {
  await using first = new SessionWorld();
  await started(first);
  const sts = { endpointUrl: "http://other-sts" };
  await using second = new SessionWorld({ stores: storesWith({ default: { sts } }) }, first.stored);
  second.need = "workload";
  await vi.advanceTimersByTimeAsync(100);
  expect([second.key, second.stored.size, second.changes]).toEqual([undefined, 0, []]);
  second.sessions.offer(access, token())[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  expect(second.asked.map(({ store }) => store.sts?.endpointUrl)).toEqual(["http://other-sts"]);
});

it("ID-2 an STS that does not answer does not delay the renewals of another store", async () => {
  const sts = { endpointUrl: "http://sts" };
  const slow = { endpointUrl: "http://slow", region: "us-east-1", sts };
  await using world = new SessionWorld({ stores: storesWith({ default: { sts }, slow }) });
  const hanging = Promise.withResolvers<never>();
  const works = world.answer;
  world.answer = () => (world.asked.at(-1)?.store.name === "default" ? works() : hanging.promise);
  world.need = "workload";
  for (let index = 0; index < 20; index += 1) {
    const name = `reader-${index}`;
    const onSlow = { ...access, store: "slow" as PodAccess["store"], account: { ...account, name } };
    world.sessions.offer(onSlow, token())[Symbol.dispose]();
  }
  await vi.advanceTimersByTimeAsync(100);
  world.sessions.offer(access, token())[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  hanging.reject(busy);
  expect(world.key).toBeDefined();
});
