import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import {
  access,
  busy,
  credentialsWithToken,
  identity,
  minute,
  refused,
  SessionWorld,
  started,
  token,
} from "../../../test/support/session-world.ts";
import type { TemporaryCredentials } from "../../s3/sts/sts-client.ts";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

it("ID-2 a session is forgotten with its last mount, but not while one begins", async () => {
  await using world = new SessionWorld();
  const held = world.sessions.offer(access, token());
  await world.sessions.get(call, access);
  world.need = "nothing";
  await world.rechecks();
  expect(world.key).toBe("1-id");
  world.need = "mountpointPod";
  held[Symbol.dispose]();
  await world.rechecks();
  expect(world.key).toBe("1-id");
  world.need = "nothing";
  await world.rechecks();
  expect([world.key, world.stored.size]).toEqual([undefined, 0]);
  await vi.advanceTimersByTimeAsync(60 * minute);
  expect(world.asked).toHaveLength(1);
});

it("ID-2 a session whose last Mountpoint Pod went while a call held it is forgotten with that call", async () => {
  await using world = new SessionWorld();
  const held = world.sessions.offer(access, token());
  await world.sessions.get(call, access);
  world.need = "nothing";
  await world.rechecks();
  held[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  expect([world.key, world.stored.size]).toEqual([undefined, 0]);
});

it("ID-2 a session that is not needed any more when it is to be renewed is forgotten instead", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.need = "nothing";
  await vi.advanceTimersByTimeAsync(60 * minute);
  expect([world.key, world.stored.size, world.asked.length]).toEqual([undefined, 0, 1]);
});

it("ID-2 a session that arrives after its last mount has gone leaves nothing", async () => {
  await using world = new SessionWorld();
  const { promise, resolve } = Promise.withResolvers<TemporaryCredentials>();
  world.answer = () => promise;
  const held = world.sessions.offer(access, token());
  const got = world.sessions.get(call, access);
  world.need = "nothing";
  held[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  resolve({ credentials: credentialsWithToken("late"), lifeMs: 15 * minute });
  await got;
  expect([world.stored.size, world.sessions.known(access), world.changes]).toEqual([0, undefined, []]);
});

it("ID-2 a running mount whose session was lost gets a new one with the next call of kubelet", async () => {
  await using world = new SessionWorld();
  world.need = "workload";
  const held = world.sessions.offer(access, token());
  expect(world.key).toBeUndefined();
  held[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  expect(world.key).toBe("1-id");
  expect(world.changes).toEqual([{ kind: "renewed", identity, wasReported: false }]);
});

it("ID-2 a lost session that cannot be started again is reported, because its end is not known, and tried again", async () => {
  await using world = new SessionWorld();
  world.need = "workload";
  world.fails(busy);
  world.sessions.offer(access, token())[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(100);
  expect(world.changes).toMatchObject([{ kind: "failed", ended: false, error: busy }]);
  world.works();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(world.changes.at(-1)).toEqual({ kind: "renewed", identity, wasReported: true });
});

it("ID-2 a call that found no mount leaves the next request to the next call", async () => {
  await using world = new SessionWorld();
  world.fails(refused);
  const held = world.sessions.offer(access, token());
  await expect(world.sessions.get(call, access)).rejects.toBe(refused);
  held[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect([world.asked.length, world.changes]).toEqual([1, []]);
});
