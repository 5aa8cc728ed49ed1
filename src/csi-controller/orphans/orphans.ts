/**
 * Searches for orphaned buckets. csi-provisioner creates the PersistentVolume after the bucket. If it ends in between, and the claim
 * is deleted or gets a bucket elsewhere afterwards, no object of the cluster names the bucket any more. Orphaned buckets are reported and never
 * deleted: a cluster that was restored from a backup has no PersistentVolume for buckets that are in use, either.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { DriverError } from "../../core/errors.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import type { Buckets, OpenBuckets } from "../buckets.ts";
import type { ClusterId } from "../cluster-id.ts";
import { locationFor, mayBeVolumeBucket } from "../domain/bucket-location.ts";
import { type BucketOrigin, originOf, type Tags } from "../domain/bucket-tags.ts";
import { unlessMissing } from "../unless-missing.ts";
import type { VolumeCache } from "../volume-cache.ts";

export interface OrphanDependencies {
  readonly openBuckets: OpenBuckets;
  readonly clusterId: ClusterId;
  readonly volumes: Pick<VolumeCache, "hasBucket" | "bucketsListed">;
  /** UIDs of the claims that have no PersistentVolume yet. */
  readonly pendingClaims: (call: Call) => AsyncIterable<string>;
  /** Whether this replica does the search: one of them is enough. */
  readonly isActive: (call: Call) => Promise<boolean>;
  readonly report: (call: Call, orphan: Orphan) => void;
}

export interface Orphan {
  readonly store: StoreName;
  readonly bucket: string;
  readonly origin: Extract<BucketOrigin, { kind: "volume" | "untagged" }>;
}

export interface OrphanTimes {
  /** 0: never. */
  readonly everyMs: number;
  /** A bucket is reported if two searches, this far apart, find it: its PersistentVolume may be about to be created. */
  readonly settleMs: number;
}

/** One search for each store, so that a store that is away does not hold up the others. Runs until the call ends and never throws. */
export async function searchOrphans(
  call: Call,
  dependencies: OrphanDependencies,
  { stores, times }: { readonly stores: readonly StoreName[]; readonly times: OrphanTimes },
): Promise<void> {
  if (times.everyMs === 0) return;
  await Promise.all(stores.map((store) => searchAt(call, new OrphanSearch(dependencies, store), times)));
}

/** A problem is logged once while it lasts. */
async function searchAt(call: Call, search: OrphanSearch, times: OrphanTimes): Promise<void> {
  const problems = new ProblemLog();
  while (!call.signal.aborted) {
    let next: keyof OrphanTimes = "everyMs";
    try {
      next = (await search.run(call)) === "settled" ? "everyMs" : "settleMs";
      problems.resolve("orphans");
    } catch (error) {
      if (call.signal.aborted) return;
      const hint = error instanceof DriverError ? error.hint : undefined;
      problems.report(call.log, "orphans", "failed to search for orphaned buckets", {
        store: search.store,
        error,
        hint,
      });
    }
    await sleep(times[next], undefined, { signal: call.signal }).catch(() => undefined); // the call has ended
  }
}

/** Further orphans of one search are only logged. */
const maxEvents = 50;

export class OrphanSearch {
  readonly #dependencies: OrphanDependencies;
  readonly store: StoreName;
  /** Buckets that never have to be looked at again: bucket names are never used for another volume. */
  readonly #accountedFor = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();

  constructor(dependencies: OrphanDependencies, store: StoreName) {
    this.#dependencies = dependencies;
    this.store = store;
  }

  /** "unsettled": search again soon, because a bucket was found for the first time or another replica is active. */
  async run(call: Call): Promise<"settled" | "unsettled"> {
    if (!(await this.#dependencies.isActive(call))) return "unsettled";
    const found = await this.#withoutOwner(call, await this.#withoutVolume(call));
    const before = this.#suspects;
    this.#suspects = new Set(found.map(({ bucket }) => bucket));
    const orphans = found.filter(({ bucket }) => before.has(bucket));
    for (const { store, bucket, origin } of orphans) {
      call.log.info("found an orphaned bucket", { store, bucket, ...origin });
    }
    for (const orphan of orphans.slice(0, maxEvents)) this.#dependencies.report(call, orphan);
    return orphans.length === found.length ? "settled" : "unsettled";
  }

  async #withoutVolume(call: Call): Promise<readonly Orphan[]> {
    const { openBuckets, volumes, clusterId } = this.#dependencies;
    const { store } = this;
    const cluster = await clusterId(call);
    if (cluster === undefined) {
      throw new DriverError("denied", "the driver has no right to read the namespace kube-system", {
        hint: "Install the chart of this version, which grants the right.",
      });
    }
    const buckets = await openBuckets(call, { store, secrets: {}, region: undefined });
    const found: Orphan[] = [];
    for await (const bucket of buckets.names(call)) {
      if (!mayBeVolumeBucket(bucket) || this.#accountedFor.has(bucket)) continue;
      if (await volumes.hasBucket(call, store, bucket)) continue;
      const tags = await tagsOf(call, buckets, bucket);
      if (tags === undefined) continue;
      const origin = originOf(bucket, tags, { store, cluster });
      if (origin.kind === "accountedFor") this.#accountedFor.add(bucket);
      if (origin.kind === "volume" || origin.kind === "untagged") found.push({ store, bucket, origin });
    }
    return found;
  }

  /**
   * Leaves out buckets whose claim is pending, because csi-provisioner will create their PersistentVolume, and those whose PersistentVolume the
   * cache does not have yet. The claims are listed first: a claim that is bound meanwhile has its PersistentVolume in the later list.
   */
  async #withoutOwner(call: Call, found: readonly Orphan[]): Promise<readonly Orphan[]> {
    if (found.length === 0) return found;
    const orphaned = new Set(found.map(({ origin }) => origin.baseVolumeId));
    for await (const uid of this.#dependencies.pendingClaims(call)) {
      orphaned.delete(locationFor(`pvc-${uid}`, { kind: "own" }).volumeId);
    }
    const used = await this.#dependencies.volumes.bucketsListed(call, this.store);
    return found.filter(({ origin, bucket }) => orphaned.has(origin.baseVolumeId) && !used.has(bucket));
  }
}

/** undefined: the bucket was deleted meanwhile, or its tags cannot be read. */
async function tagsOf(call: Call, buckets: Buckets, bucket: string): Promise<Tags | undefined> {
  const answer = await unlessMissing(buckets.tags(call, bucket));
  return answer?.kind === "read" ? answer.tags : undefined;
}
