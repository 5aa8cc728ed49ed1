/** What a leader remembers of nodes with waiting Mountpoint Pods, and which the cluster does not say. Times are those of `performance.now()`. */
import type { NodeName, PodName } from "../../core/names.ts";
import { warmPodName } from "../../core/names.ts";

const firstBackOffMs = 10_000;
const longestBackOffMs = 600_000;
/** A node on which nothing failed for so long begins anew. */
const forgottenMs = 1_800_000;
/** A workload that cannot start for other reasons does not hold up the next Mountpoint Pod for longer. */
const startingLimitMs = 60_000;

interface Removed {
  readonly name: PodName;
  readonly node: NodeName;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

export class WarmHistory {
  /** Unique for each term. */
  readonly #term: string;
  readonly #created = new Map<NodeName, number>();
  readonly #failures = new Map<NodeName, Failures>();
  readonly #pluginLostMs = new Map<NodeName, number>();
  readonly #startingMs = new Map<NodeName, number>();
  /** The Mountpoint Pods that this leader deletes, and whether it does so because they have failed. */
  readonly #deleting = new Map<PodName, boolean>();

  constructor(term: string) {
    this.#term = term;
  }

  /** The same until `created` is called, so that a create whose answer was lost is repeated. */
  nextName(node: NodeName): PodName {
    return warmPodName(this.#term, node, this.#created.get(node) ?? 0);
  }

  created(node: NodeName): void {
    this.#created.set(node, (this.#created.get(node) ?? 0) + 1);
  }

  failed(node: NodeName, nowMs: number): void {
    this.#failures.set(node, { count: this.#failuresOf(node, nowMs) + 1, atMs: nowMs });
  }

  /** Its deletion may be requested again after an answer that was lost: a failure stays one failure. */
  deleting(name: PodName, isFailure: boolean): void {
    this.#deleting.set(name, isFailure || this.#deleting.get(name) === true);
  }

  /** One does not wait any more. One that somebody else has deleted counts as a failure: for example a drain, an eviction, or an operator. */
  removed({ name, node }: Removed, hasVolume: boolean, nowMs: number): void {
    const isFailure = this.#deleting.get(name) ?? true;
    this.#deleting.delete(name);
    if (isFailure && !hasVolume) this.failed(node, nowMs);
  }

  backOffMs(node: NodeName, nowMs: number): number {
    const failures = this.#failures.get(node);
    if (failures === undefined) return 0;
    const pauseMs = Math.min(firstBackOffMs * 2 ** (failures.count - 1), longestBackOffMs);
    return Math.max(0, failures.atMs + pauseMs - nowMs);
  }

  withoutPluginMs(node: NodeName, hasPlugin: boolean, nowMs: number): number {
    return lastedMs(this.#pluginLostMs, { node, holds: !hasPlugin, nowMs });
  }

  /** Whether a workload has begun to start a short while ago. */
  isStarting(node: NodeName, isStarting: boolean, nowMs: number): boolean {
    const lasted = lastedMs(this.#startingMs, { node, holds: isStarting, nowMs });
    return lasted > 0 && lasted < startingLimitMs;
  }

  /** The node is gone: names of its Mountpoint Pods come back for no other. */
  forget(node: NodeName): void {
    for (const each of [this.#failures, this.#pluginLostMs, this.#startingMs]) each.delete(node);
  }

  #failuresOf(node: NodeName, nowMs: number): number {
    const known = this.#failures.get(node);
    return known === undefined || nowMs - known.atMs > forgottenMs ? 0 : known.count;
  }
}

interface Held {
  readonly node: NodeName;
  readonly holds: boolean;
  readonly nowMs: number;
}

/** For how long it has held without a break, as far as anybody has asked; at least 1 while it holds. */
function lastedMs(since: Map<NodeName, number>, { node, holds, nowMs }: Held): number {
  if (!holds) {
    since.delete(node);
    return 0;
  }
  const sinceMs = since.get(node) ?? nowMs;
  since.set(node, sinceMs);
  return Math.max(1, nowMs - sinceMs);
}
