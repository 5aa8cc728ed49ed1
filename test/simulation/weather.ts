/** What happens to the requests and watches of one replica: set by the faults of a plan. */
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { Chance } from "./chance.ts";

/** cutBefore: the server did not get the request. cutAfter: it performed it, and its answer was lost. */
export type Fate = "passed" | "tooManyRequests" | "failed" | "cutBefore" | "cutAfter" | "unanswered";

const troubles: readonly Fate[] = ["tooManyRequests", "failed", "cutBefore", "cutAfter", "unanswered"];

export class Weather {
  readonly #chance: Chance;
  readonly #stream: string;
  /** By the plural of a kind: how much later the watches of the kind deliver. */
  readonly #latenessMs = new Map<string, number>();
  /** How many of a hundred requests meet trouble. */
  badness = 0;
  /** A request may take this long to arrive. */
  slowestMs = 200;

  constructor(chance: Chance, replica: string) {
    this.#chance = chance;
    this.#stream = `requests of ${replica}`;
  }

  fate(): Fate {
    if (!this.#chance.happens(this.#stream, this.badness / 100)) return "passed";
    return troubles[Math.floor(this.#chance.next(this.#stream) * troubles.length)] ?? "passed";
  }

  /** How long a request or an answer is on its way: mostly a few milliseconds. */
  latencyMs(): number {
    const isSlow = this.#chance.happens(this.#stream, 0.05);
    return this.#chance.between(this.#stream, 1, isSlow ? this.slowestMs : 10);
  }

  latenessMs(plural: string): number {
    return this.#latenessMs.get(plural) ?? 0;
  }

  setLateness(plural: string, ms: number): void {
    this.#latenessMs.set(plural, ms);
  }

  clear(): void {
    this.#latenessMs.clear();
    this.badness = 0;
    this.slowestMs = 200;
  }
}

export function refusalFor(fate: "tooManyRequests" | "failed"): ApiError {
  return fate === "failed"
    ? new ApiError(500, "InternalError", "etcdserver: request timed out")
    : new ApiError(429, "TooManyRequests", "the server has received too many requests");
}
