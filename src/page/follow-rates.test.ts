import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type FigureSource, followRates } from "./follow-rates.ts";
import type { RatesByPod } from "./rates.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

class Followed implements AsyncDisposable {
  readonly rates: RatesByPod[] = [];
  readonly asked: string[] = [];
  isWatched: boolean;
  refused: ReadonlySet<string> = new Set();
  readonly #stop = new AbortController();
  readonly #following: Promise<void>;
  #counted = 0;

  constructor({ isWatched = true, plugins = ["n1", "n2"] as readonly string[] } = {}) {
    this.isWatched = isWatched;
    const source: FigureSource<string> = {
      plugins: async () => plugins,
      metrics: async (_, plugin) => {
        this.asked.push(plugin);
        if (this.refused.has(plugin)) throw new Error("404");
        this.#counted += 150;
        return `s3_csi_volume_s3_requests_total{mountpoint_pod="mp-${plugin}"} ${this.#counted}\n`;
      },
    };
    const follower = { isWatched: () => this.isWatched, onRates: (rates: RatesByPod) => this.rates.push(rates) };
    this.#following = followRates(this.#stop.signal, source, follower);
  }

  async after(seconds: number): Promise<readonly string[]> {
    await vi.advanceTimersByTimeAsync(seconds * 1000);
    return Object.keys(this.rates.at(-1) ?? {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }
}

it("reads every node plugin, again and again", async () => {
  await using followed = new Followed();
  expect(await followed.after(1)).toEqual([]);
  expect(await followed.after(15)).toEqual(["mp-n1", "mp-n2"]);
  expect(followed.rates.at(-1)?.["mp-n1"]?.requests).toBe(20);
});

it("a node plugin that does not answer has no rates, and the others have", async () => {
  await using followed = new Followed();
  followed.refused = new Set(["n1"]);
  await followed.after(1);
  expect(await followed.after(15)).toEqual(["mp-n2"]);
});

it("asks nothing while nobody looks, and seldom where nothing is to be had", async () => {
  await using followed = new Followed({ isWatched: false });
  await followed.after(600);
  expect(followed.asked).toEqual([]);
  followed.isWatched = true;
  followed.refused = new Set(["n1", "n2"]);
  await followed.after(600);
  expect(followed.asked.length).toBeLessThanOrEqual(12);
  expect(followed.rates).toEqual([]);
});

it("rates that cannot be read any more are shown no longer", async () => {
  await using followed = new Followed();
  await followed.after(16);
  followed.refused = new Set(["n1", "n2"]);
  expect(await followed.after(16)).toEqual([]);
});

it("leaves clusters with many nodes to Prometheus", async () => {
  await using followed = new Followed({ plugins: Array.from({ length: 201 }, (_, at) => `n${at}`) });
  await followed.after(60);
  expect(followed.asked).toEqual([]);
});
