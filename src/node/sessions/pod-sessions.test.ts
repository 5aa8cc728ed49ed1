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

it("ID-1 mounts of one identity that start at once make one request, and all get its credentials", async () => {
  await using world = new SessionWorld();
  world.sessions.offer(access, token());
  const keys = await Promise.all([1, 2, 3].map(() => world.sessions.get(call, access)));
  expect(world.asked).toHaveLength(1);
  expect(keys.map(({ accessKeyId }) => accessKeyId.reveal())).toEqual(["1-id", "1-id", "1-id"]);
});

it("ID-2 a session is renewed before it ends, from the token that ends last", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.sessions.offer(access, token(2_000_000_600));
  world.sessions.offer(access, token(2_000_000_300));
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.key).toBe("2-id");
  expect(world.asked[1]?.token.reveal()).toBe(token(2_000_000_600).reveal());
  expect(world.changes.filter(({ kind }) => kind === "failed")).toEqual([]);
});

it("ID-2 an STS that is away for less than a third of the session's life is not noticed", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(busy);
  await vi.advanceTimersByTimeAsync(14 * minute);
  expect(world.key).toBe("1-id");
  world.works();
  await vi.advanceTimersByTimeAsync(minute - 1);
  expect(world.key).not.toBe("1-id");
  expect(world.changes.map(({ kind }) => kind)).toEqual(["renewed", "renewed"]);
  expect(world.changes[1]).toMatchObject({ wasReported: false });
});

it("ID-2 a longer outage is reported when the session ends, and its end, too", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(busy);
  await vi.advanceTimersByTimeAsync(16 * minute);
  expect(world.sessions.known(access)).toBeUndefined();
  expect(world.changes.at(-1)).toMatchObject({ kind: "failed", identity, ended: true, error: busy });
  world.works();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(world.changes.at(-1)).toEqual({ kind: "renewed", identity, wasReported: true });
  expect(world.key).toBeDefined();
});

it("ID-2 a refusal is reported at once, while there is time to mend it", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(refused);
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.changes.at(-1)).toMatchObject({ kind: "failed", ended: false, error: refused });
  expect(world.key).toBe("1-id");
});

it("ID-2 an STS that is away is asked at most twice a minute", async () => {
  await using world = new SessionWorld();
  await started(world);
  world.fails(busy);
  await vi.advanceTimersByTimeAsync(20 * minute);
  const before = world.asked.length;
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.asked.length - before).toBeLessThanOrEqual(21);
  expect(world.asked.length - before).toBeGreaterThanOrEqual(18);
});

it("ID-2 a session is kept over a restart of the program, without a token on its storage, and is renewed from the next one", async () => {
  await using first = new SessionWorld();
  await started(first);
  expect([...first.stored.values()].join()).not.toContain(token().reveal());

  await using second = new SessionWorld({}, first.stored);
  expect(second.key).toBe("1-id");
  second.works();
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(second.asked).toEqual([]);
  second.sessions.offer(access, token());
  await vi.advanceTimersByTimeAsync(100);
  expect(second.asked).toHaveLength(1);
});

it("ID-2 a session that ended while the machine was suspended is not used, and the next token renews it", async () => {
  let suspendedMs = 0;
  await using world = new SessionWorld({ nowMs: () => Date.now() + suspendedMs });
  await started(world);
  suspendedMs = 60 * minute;
  expect(world.key).toBeUndefined();
  world.sessions.offer(access, token());
  await vi.advanceTimersByTimeAsync(100);
  expect(world.key).toBe("2-id");
});

it("LC-17 a request to STS without an answer does not hold up the end of the program, and changes nothing after it", async () => {
  const world = new SessionWorld();
  await started(world);
  const { promise, resolve } = Promise.withResolvers<TemporaryCredentials>();
  world.answer = () => promise;
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.asked).toHaveLength(2);
  await world[Symbol.asyncDispose]();
  const before = [...world.stored.values()];
  resolve({ credentials: credentialsWithToken("late"), lifeMs: 15 * minute });
  await vi.advanceTimersByTimeAsync(60 * minute);
  expect([world.asked.length, [...world.stored.values()]]).toEqual([2, before]);
});

it("ID-2 the last token of a Pod is used before it ends, so that its session lasts as long as possible", async () => {
  await using world = new SessionWorld();
  const endsAtSeconds = Date.now() / 1000 + 300;
  using _held = world.sessions.offer(access, token(endsAtSeconds));
  await world.sessions.get(call, access);
  await world.rechecks();
  await vi.advanceTimersByTimeAsync(279_000);
  expect(world.asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(world.key).toBe("2-id");
  world.fails(refused);
  await vi.advanceTimersByTimeAsync(minute);
  expect(world.asked).toHaveLength(2);
});

it("ID-2 a caller that gives up does not take the credentials from the others", async () => {
  await using world = new SessionWorld();
  const { promise, resolve } = Promise.withResolvers<TemporaryCredentials>();
  world.answer = () => promise;
  world.sessions.offer(access, token());
  const gaveUp = new AbortController();
  const first = world.sessions.get({ ...call, signal: gaveUp.signal }, access);
  const second = world.sessions.get(call, access);
  gaveUp.abort(new Error("kubelet's deadline"));
  await expect(first).rejects.toThrow("kubelet's deadline");
  resolve({ credentials: credentialsWithToken("1"), lifeMs: 15 * minute });
  expect((await second).accessKeyId.reveal()).toBe("1-id");
});
