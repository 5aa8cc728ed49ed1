import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { jsonLogger } from "../../runtime/log.ts";
import { ApiError } from "../client/api-error.ts";
import type { KubeClient } from "../client/client.ts";
import type { Lease } from "../kinds.ts";
import { lead } from "./lease.ts";
import type { Term } from "./term.ts";

type Client = Pick<KubeClient, "get" | "create" | "patch">;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One object with the rules of the API server: a write must know the present version. */
class LeaseServer {
  lease: Lease | undefined;
  /** What happens to a request before it is looked at. */
  failure: ((signal: AbortSignal) => Promise<void>) | undefined;
  #version = 0;

  readonly client = {
    get: async (call: { signal: AbortSignal }) => {
      await this.failure?.(call.signal);
      return this.lease;
    },
    create: async (call: { signal: AbortSignal }, _kind: unknown, object: Lease) => {
      await this.failure?.(call.signal);
      if (this.lease !== undefined) throw new ApiError(409, "AlreadyExists", "there is one");
      return this.#store(object.spec);
    },
    patch: async (call: { signal: AbortSignal }, _kind: unknown, _ref: unknown, patch: Lease) => {
      await this.failure?.(call.signal);
      if (this.lease === undefined) throw new ApiError(404, "NotFound", "there is none");
      if (patch.metadata.resourceVersion !== this.lease.metadata.resourceVersion) {
        throw new ApiError(409, "Conflict", "the object has been modified");
      }
      return this.#store({ ...this.lease.spec, ...patch.spec });
    },
  } as unknown as Client;

  get holder(): string | undefined {
    return this.lease?.spec?.holderIdentity ?? undefined;
  }

  #store(spec: Lease["spec"]): Lease {
    this.#version += 1;
    const metadata = { name: "l", uid: "u", creationTimestamp: "", resourceVersion: String(this.#version) };
    this.lease = { metadata, ...(spec && { spec }) };
    return this.lease;
  }
}

/** A candidate that notes when it works. */
class Worker {
  readonly lines: string[] = [];
  readonly stop = new AbortController();
  readonly terms: Term[] = [];
  working = false;
  readonly ended: Promise<void>;

  readonly forbidden: boolean[] = [];

  constructor(server: LeaseServer, identity: string, failure?: Promise<void>, required = false) {
    const log = jsonLogger((line) => this.lines.push(line), 2);
    const candidate = { lease: { namespace: "n", name: "l" }, identity, required };
    const work = async (term: Term) => {
      this.terms.push(term);
      this.working = true;
      const { promise, resolve } = Promise.withResolvers<void>();
      term.signal.addEventListener("abort", () => resolve());
      await Promise.race([promise, ...(failure ? [failure] : [])]).finally(() => {
        this.working = false;
      });
    };
    const onForbidden = (isForbidden: boolean) => void this.forbidden.push(isForbidden);
    this.ended = lead({ signal: this.stop.signal, log }, server.client, candidate, { work, onForbidden });
    this.ended.catch(() => undefined); // looked at by the test
  }
}

const forbid = () => Promise.reject(new ApiError(403, "Forbidden", "leases is forbidden"));
const afterSeconds = (seconds: number) => vi.advanceTimersByTimeAsync(1000 * seconds);
const hang = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

it("of two, one works for as long as it renews", async () => {
  const server = new LeaseServer();
  const [a, b] = [new Worker(server, "a"), new Worker(server, "b")];
  for (let seconds = 0; seconds < 120; seconds += 5) {
    await afterSeconds(5);
    expect([a.working, b.working, server.holder]).toEqual([true, false, "a"]);
  }
  expect(a.terms).toHaveLength(1);
});

it("given back at the end, the lease is taken within one look", async () => {
  const server = new LeaseServer();
  const [a, b] = [new Worker(server, "a"), new Worker(server, "b")];
  await afterSeconds(10);
  a.stop.abort();
  await a.ended;
  expect(server.holder).toBeUndefined();
  await afterSeconds(2.4);
  expect([a.working, b.working, server.holder]).toEqual([false, true, "b"]);
  expect(server.lease?.spec?.leaseTransitions).toBe(1);
});

it("cut off, a leader stops before another begins, and takes part again when the server is back", async () => {
  const server = new LeaseServer();
  const a = new Worker(server, "a");
  await afterSeconds(10);
  server.failure = hang;
  await afterSeconds(10);
  expect(a.working).toBe(false);
  expect(a.lines.filter((line) => line.includes("failed to acquire or renew the lease"))).toHaveLength(1);
  server.failure = undefined;
  await afterSeconds(10);
  expect([a.working, a.terms.length]).toEqual([true, 2]);
});

it("a leader whose lease another has taken stops at its next renewal", async () => {
  const server = new LeaseServer();
  const a = new Worker(server, "a");
  await afterSeconds(10);
  const { metadata, spec } = server.lease as Lease;
  server.lease = {
    metadata: { ...metadata, resourceVersion: "other" },
    spec: { ...spec, holderIdentity: "b", renewTime: "now" },
  };
  await afterSeconds(2.4);
  expect([a.working, server.holder]).toEqual([false, "b"]);
});

it("without the right to leases it says so once, and works", async () => {
  const server = new LeaseServer();
  server.failure = forbid;
  const a = new Worker(server, "a");
  await afterSeconds(10);
  expect(a.working).toBe(false);
  await afterSeconds(600);
  expect([a.working, a.terms.length]).toEqual([true, 1]);
  expect(a.lines.filter((line) => line.includes("forbidden"))).toHaveLength(1);
  expect(a.lines.filter((line) => line.includes("without an election"))).toHaveLength(1);
  expect(a.forbidden).toEqual([]);
});

it("SC-7 without the right to a lease that it requires it is not active, and names the right, until it has the right", async () => {
  const server = new LeaseServer();
  server.failure = forbid;
  const a = new Worker(server, "a", undefined, true);
  await afterSeconds(600);
  expect([a.working, a.terms.length, new Set(a.forbidden)]).toEqual([false, 0, new Set([true])]);
  const reports = a.lines.filter((line) => line.includes("this account may not use the required lease"));
  expect(reports).toHaveLength(1);
  expect(reports[0]).toContain('"missingRight":"get leases.coordination.k8s.io","namespace":"n","name":"l"');
  server.failure = undefined;
  await afterSeconds(10);
  expect([a.working, a.forbidden.at(-1)]).toEqual([true, false]);
});

it("SC-7 is not active where it may look at the required lease and not write it, and says so once", async () => {
  const server = new LeaseServer();
  Object.assign(server.client, { create: forbid });
  const a = new Worker(server, "a", undefined, true);
  await afterSeconds(600);
  expect([a.working, new Set(a.forbidden)]).toEqual([false, new Set([true])]);
  expect(a.lines.filter((line) => line.includes('"missingRight":"create leases'))).toHaveLength(1);
});

it("ends with the failure of its work, and gives the lease back", async () => {
  const server = new LeaseServer();
  const { promise, reject } = Promise.withResolvers<void>();
  const a = new Worker(server, "a", promise);
  await afterSeconds(10);
  reject(new Error("work failed"));
  await expect(a.ended).rejects.toThrow("work failed");
  expect(server.holder).toBeUndefined();
});

it("refuses writes after the term, even before the timer has run", async () => {
  const server = new LeaseServer();
  const a = new Worker(server, "a");
  await afterSeconds(1);
  const [term] = a.terms as [Term];
  const patches: unknown[] = [];
  const patch = async (...args: unknown[]) => void patches.push(args);
  const writer = term.writer({ ...server.client, patch, delete: patch } as unknown as Parameters<Term["writer"]>[0]);
  const write = () => writer.delete(term, {} as never, { name: "x" }, { uid: "u" });
  await write();
  expect(patches).toHaveLength(1);
  // As for a process that was stopped: time passes, and no timer has run.
  const now = performance.now();
  vi.spyOn(performance, "now").mockReturnValue(now + 60_000);
  await expect(write()).rejects.toThrow("another may lead now");
  expect([patches.length, term.signal.aborted]).toEqual([1, true]);
  vi.restoreAllMocks();
});
