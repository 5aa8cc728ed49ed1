import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { call, credentialsOf } from "../../../test/support/fake-node.ts";
import { tokenOf } from "../../../test/support/service-account-token.ts";
import { DriverError } from "../../core/errors.ts";
import { podIdentity } from "../../core/identity.ts";
import { defaultStore } from "../../core/stores/store.ts";
import { Secret } from "../../runtime/secret.ts";
import type { SessionRequest, TemporaryCredentials } from "../../s3/sts/sts-client.ts";
import type { PodAccess } from "../credentials/access.ts";
import { noStorage } from "../records/tmpfs-storage.ts";
import { PodSessions, type SessionChange, type SessionParts } from "./pod-sessions.ts";
import { SessionStorage } from "./session-storage.ts";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

const minute = 60_000;
const account = { namespace: "team-a", name: "reader" };
const access: PodAccess = { source: "pod", store: defaultStore, account, role: undefined };
const identity = podIdentity(account, undefined, defaultStore);
const token = (endsAtSeconds?: number) => new Secret(tokenOf("system:serviceaccount:team-a:reader", endsAtSeconds));
const busy = new DriverError("notReady", "STS is away");
const refused = new DriverError("denied", "the trust policy does not allow it");

/** An STS and a service account whose state a test sets. */
class World implements AsyncDisposable {
  readonly asked: SessionRequest[] = [];
  readonly changes: SessionChange[] = [];
  readonly stored = new Map<string, string>();
  answer: () => Promise<TemporaryCredentials> = async () => this.#nextSession();
  role: string | undefined;
  readonly sessions: PodSessions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(more: Partial<SessionParts> = {}, stored?: ReadonlyMap<string, string>) {
    for (const [name, text] of stored ?? []) this.stored.set(name, text);
    this.sessions = new PodSessions({
      stores: storesWith({
        default: { sts: { endpointUrl: "http://sts", roleArn: "arn:aws:iam::1:role/of-store", durationSeconds: 900 } },
      }),
      sts: {
        session: (_call, request) => {
          this.asked.push(request);
          return this.answer();
        },
        [Symbol.dispose]: () => undefined,
      },
      roleOf: async () => this.role,
      storage: new SessionStorage({
        ...noStorage,
        all: () => this.stored,
        write: (name, text) => void this.stored.set(name, text),
        remove: (name) => void this.stored.delete(name),
      }),
      nowMs: () => Date.now(),
      sessionLimitMs: 1e12,
      ...more,
    });
    this.sessions.onChange((_call, change) => this.changes.push(change));
    this.#running = this.sessions.run({ ...call, signal: this.#stop.signal }).catch(() => undefined);
  }

  fails(error: Error): void {
    this.answer = async () => {
      throw error;
    };
  }

  works(): void {
    this.answer = async () => this.#nextSession();
  }

  get key(): string | undefined {
    return this.sessions.known(access)?.accessKeyId.reveal();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test ends"));
    await vi.advanceTimersByTimeAsync(1000);
    await this.#running;
    this.sessions[Symbol.dispose]();
  }

  #nextSession(): TemporaryCredentials {
    return { credentials: credentialsWithToken(`${this.asked.length}`), lifeMs: 15 * minute };
  }
}

function credentialsWithToken(name: string): TemporaryCredentials["credentials"] {
  return { ...credentialsOf(name), sessionToken: new Secret(`${name}-session`) };
}

async function started(world: World): Promise<void> {
  world.sessions.offer(access, token());
  await world.sessions.get(call, access);
}

it("ID-1 mounts of one identity that start at once make one request, and all get its credentials", async () => {
  await using world = new World();
  world.sessions.offer(access, token());
  const keys = await Promise.all([1, 2, 3].map(() => world.sessions.get(call, access)));
  expect(world.asked).toHaveLength(1);
  expect(keys.map(({ accessKeyId }) => accessKeyId.reveal())).toEqual(["1-id", "1-id", "1-id"]);
});

it.for([
  ["the volume", "arn:aws:iam::1:role/of-volume", "arn:aws:iam::1:role/of-account", "arn:aws:iam::1:role/of-volume"],
  ["the account", undefined, "arn:aws:iam::1:role/of-account", "arn:aws:iam::1:role/of-account"],
  ["the store", undefined, undefined, "arn:aws:iam::1:role/of-store"],
] as const)("ID-1 the role is that of %s", async ([, ofVolume, ofAccount, role]) => {
  await using world = new World();
  world.role = ofAccount;
  world.sessions.offer({ ...access, role: ofVolume }, token());
  await world.sessions.get(call, { ...access, role: ofVolume });
  expect(world.asked).toMatchObject([{ role, sessionName: "team-a.reader" }]);
});

it("ID-1 credentials of an identity are not those of another", async () => {
  await using world = new World();
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

it("ID-2 a session is renewed before it ends, from the token that ends last", async () => {
  await using world = new World();
  await started(world);
  world.sessions.offer(access, token(2_000_000_600));
  world.sessions.offer(access, token(2_000_000_300));
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.key).toBe("2-id");
  expect(world.asked[1]?.token.reveal()).toBe(token(2_000_000_600).reveal());
  expect(world.changes.filter(({ kind }) => kind === "failed")).toEqual([]);
});

it("ID-2 an STS that is away for less than a third of the session's life is not noticed", async () => {
  await using world = new World();
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
  await using world = new World();
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
  await using world = new World();
  await started(world);
  world.fails(refused);
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.changes.at(-1)).toMatchObject({ kind: "failed", ended: false, error: refused });
  expect(world.key).toBe("1-id");
});

it("ID-2 an STS that is away is asked at most twice a minute", async () => {
  await using world = new World();
  await started(world);
  world.fails(busy);
  await vi.advanceTimersByTimeAsync(20 * minute);
  const before = world.asked.length;
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(world.asked.length - before).toBeLessThanOrEqual(21);
  expect(world.asked.length - before).toBeGreaterThanOrEqual(18);
});

it("ID-2 a session is kept over a restart of the program, without a token on its storage, and is renewed from the next one", async () => {
  await using first = new World();
  await started(first);
  expect([...first.stored.values()].join()).not.toContain(token().reveal());

  await using second = new World({}, first.stored);
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
  await using world = new World({ nowMs: () => Date.now() + suspendedMs });
  await started(world);
  suspendedMs = 60 * minute;
  expect(world.key).toBeUndefined();
  world.sessions.offer(access, token());
  await vi.advanceTimersByTimeAsync(100);
  expect(world.key).toBe("2-id");
});

it("ID-2 a session is forgotten with its last mount, but not while one begins", async () => {
  await using world = new World();
  const held = world.sessions.offer(access, token());
  await world.sessions.get(call, access);
  world.sessions.keepOnly(() => false);
  expect(world.key).toBe("1-id");
  held[Symbol.dispose]();
  world.sessions.keepOnly((needed) => needed === identity);
  expect(world.key).toBe("1-id");
  world.sessions.keepOnly(() => false);
  expect([world.key, world.stored.size]).toEqual([undefined, 0]);
  await vi.advanceTimersByTimeAsync(60 * minute);
  expect(world.asked).toHaveLength(1);
});

it("ID-2 a session that arrives after its last mount has gone leaves nothing", async () => {
  await using world = new World();
  const { promise, resolve } = Promise.withResolvers<TemporaryCredentials>();
  world.answer = () => promise;
  const held = world.sessions.offer(access, token());
  const got = world.sessions.get(call, access);
  held[Symbol.dispose]();
  world.sessions.keepOnly(() => false);
  resolve({ credentials: credentialsWithToken("late"), lifeMs: 15 * minute });
  await got;
  expect([world.stored.size, world.sessions.known(access), world.changes]).toEqual([0, undefined, []]);
});

it("ID-2 a caller that gives up does not take the credentials from the others", async () => {
  await using world = new World();
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

it("ID-3 a store that has lost its STS is named, with the chart value", async () => {
  await using world = new World({ stores: storesWith() });
  world.sessions.offer(access, token());
  await expect(world.sessions.get(call, access)).rejects.toMatchObject({
    kind: "invalid",
    hint: expect.stringContaining("s3.sts.endpointUrl"),
  });
});
