/**
 * Buckets that nobody remembers. The provisioner makes the PersistentVolume after the bucket; if it dies in between and the claim
 * is deleted before it is back, no object of the cluster leads to the bucket any more. It is reported and never deleted: that
 * there is no volume here proves nothing to somebody who has restored a cluster from a backup.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { DriverError } from "../../core/errors.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import type { BucketActions, ClusterId, Store } from "../csi-controller-parts.ts";
import { type Tags, type Trace, traceOn } from "../domain/bucket-tags.ts";
import { mayBeOfVolume, placeOf } from "../domain/dynamic-volume.ts";
import type { AccessFor } from "../secrets/access.ts";
import { unlessMissing } from "../unless-missing.ts";

export interface OrphanParts {
  readonly access: AccessFor;
  readonly store: Store;
  readonly clusterId: ClusterId;
  readonly volumes: { haveBucket(call: Call, bucket: string): Promise<boolean> };
  /** UIDs of every claim there is. */
  readonly claims: (call: Call) => AsyncIterable<string>;
  /** Of several replicas one is enough. */
  readonly isOurTurn: (call: Call) => Promise<boolean>;
  readonly report: (call: Call, orphan: Orphan) => Promise<void>;
}

export interface Orphan {
  readonly bucket: string;
  readonly trace: Extract<Trace, { kind: "of" | "unmarked" }>;
}

export interface OrphanTimes {
  /** 0: never. */
  readonly everyMs: number;
  /** What is on its way needs some time: only what is found twice, this far apart, is reported. */
  readonly settleMs: number;
}

/** Ends when the call does, and never fails: what stands in its way is said once. */
export async function lookForOrphans(call: Call, parts: OrphanParts, times: OrphanTimes): Promise<void> {
  if (times.everyMs === 0) return;
  const search = new OrphanSearch(parts);
  const troubles = new ProblemLog();
  while (!call.signal.aborted) {
    let again: keyof OrphanTimes = "everyMs";
    try {
      again = (await search.look(call)) === "settled" ? "everyMs" : "settleMs";
      troubles.resolve("orphans");
    } catch (error) {
      if (call.signal.aborted) return;
      const hint = error instanceof DriverError ? error.hint : undefined;
      troubles.report(call.log, "orphans", "cannot look for buckets without a volume", { error, hint });
    }
    await sleep(times[again], undefined, { signal: call.signal }).catch(() => undefined); // the call has ended
  }
}

/** Somebody who has lost this many reads the log. */
const mostEvents = 50;

export class OrphanSearch {
  readonly #parts: OrphanParts;
  /** No bucket's name is ever used for another volume. */
  readonly #accountedFor = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();

  constructor(parts: OrphanParts) {
    this.#parts = parts;
  }

  /** "unsettled": there is something that only a second look can tell. */
  async look(call: Call): Promise<"settled" | "unsettled"> {
    if (!(await this.#parts.isOurTurn(call))) return "unsettled";
    const found = await this.#withoutClaim(call, await this.#withoutVolume(call));
    const before = this.#suspects;
    this.#suspects = new Set(found.map(({ bucket }) => bucket));
    const orphans = found.filter(({ bucket }) => before.has(bucket));
    for (const { bucket, trace } of orphans) call.log.info("bucket without a volume", { bucket, ...trace });
    for (const orphan of orphans.slice(0, mostEvents)) await this.#parts.report(call, orphan);
    return orphans.length === found.length ? "settled" : "unsettled";
  }

  async #withoutVolume(call: Call): Promise<readonly Orphan[]> {
    const { store, access, volumes, clusterId } = this.#parts;
    const cluster = await clusterId(call);
    if (cluster === undefined) {
      throw new DriverError("denied", "there is no right to read the namespace kube-system", {
        hint: "Install with the chart of this version, which grants it.",
      });
    }
    const buckets = store.as(await access(call, {}, undefined));
    const found: Orphan[] = [];
    for await (const bucket of buckets.names(call)) {
      if (!mayBeOfVolume(bucket) || this.#accountedFor.has(bucket)) continue;
      if (await volumes.haveBucket(call, bucket)) continue;
      const tags = await tagsOf(call, buckets, bucket);
      if (tags === undefined) continue;
      const trace = traceOn(bucket, tags, cluster);
      if (trace.kind === "accountedFor") this.#accountedFor.add(bucket);
      if (trace.kind === "of" || trace.kind === "unmarked") found.push({ bucket, trace });
    }
    return found;
  }

  /** A claim that is still there will get its volume. */
  async #withoutClaim(call: Call, found: readonly Orphan[]): Promise<readonly Orphan[]> {
    if (found.length === 0) return found;
    const lost = new Set(found.map(({ trace }) => trace.ownId));
    for await (const uid of this.#parts.claims(call)) lost.delete(placeOf(`pvc-${uid}`, { kind: "own" }).id);
    return found.filter(({ trace }) => lost.has(trace.ownId));
  }
}

/** undefined: the bucket is gone meanwhile, or there is no way to know whose it is. */
async function tagsOf(call: Call, buckets: BucketActions, bucket: string): Promise<Tags | undefined> {
  const answer = await unlessMissing(buckets.tags(call, bucket));
  return answer?.kind === "read" ? answer.tags : undefined;
}
