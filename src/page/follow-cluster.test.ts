import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Progress } from "../runtime/progress.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { followCluster } from "./follow-cluster.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const emptyList = { metadata: { resourceVersion: "1" }, items: [] };

/** Settles when the signal aborts, as a request does that gets no answer. */
async function abandoned(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason as Error));
  return await promise;
}

/** The stream of a watch that says nothing. */
async function* silent(signal: AbortSignal): AsyncGenerator<string> {
  yield await abandoned(signal);
}

const lists: ClusterApi["json"] = async <Shape>() => emptyList as Shape;

class Following implements AsyncDisposable {
  readonly #progress = new Progress();
  readonly #stop = new AbortController();
  readonly requests: string[] = [];
  readonly #following: Promise<void>;

  constructor(but: Partial<Pick<ClusterApi, "json" | "lines">>) {
    const { lines = async (signal: AbortSignal) => silent(signal), ...rest } = but;
    const api: ClusterApi = {
      ...{ context: "test", json: lists, ...rest },
      lines: async (signal, path) => {
        this.requests.push(path.replace(/\?.*$/, ""));
        return await lines(signal, path);
      },
    };
    const namespaces = { driver: "", mountpointPods: "mount-s3" };
    const pulse = this.#progress.pulse.bind(this.#progress);
    const follower = { onState: () => undefined, onConnection: () => undefined, pulse };
    this.#following = followCluster(this.#stop.signal, api, { namespaces, unreadable: [] }, follower);
  }

  /** What the liveness probe says after a time. */
  async after(minutes: number): Promise<string> {
    for (let second = 0; second < minutes * 60; second += 5) {
      await vi.advanceTimersByTimeAsync(5000);
      await setImmediate();
    }
    const state = this.#progress.liveness();
    return state.ready ? "alive" : state.because;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.race([this.#following, setImmediate()]);
  }
}

it("OP-2 a cluster in which nothing happens is followed", async () => {
  await using following = new Following({});
  expect(await following.after(30)).toBe("alive");
});

it("OP-2 an API server that does not answer, or refuses, is no reason for a restart", async () => {
  await using away = new Following({
    json: () => Promise.reject(new Error("connection refused")),
    lines: () => Promise.reject(new Error("connection refused")),
  });
  expect(await away.after(30)).toBe("alive");
});

it("OP-2 a watch that is dead without an error is started again", async () => {
  await using following = new Following({});
  await following.after(1);
  const before = following.requests.length;
  await following.after(6);
  expect(following.requests.length).toBeGreaterThanOrEqual(2 * before);
});

it("OP-2 a loop that stands still fails the liveness probe, by its name", async () => {
  const stuck = new Promise<never>(() => undefined);
  await using frozen = new Following({
    json: async <Shape>(_: AbortSignal, { path }: { readonly path: string }) =>
      path === "/version" ? await stuck : (emptyList as Shape),
  });
  expect(await frozen.after(9)).toBe("alive");
  expect(await frozen.after(2)).toMatch(/^looking whether the API server answers: nothing has moved for \d+ s$/);

  await using deaf = new Following({
    lines: async (signal, path) => (path.includes("/persistentvolumes") ? await stuck : silent(signal)),
  });
  expect(await deaf.after(11)).toMatch(/^watch over PersistentVolumes: nothing has moved for/);
});
