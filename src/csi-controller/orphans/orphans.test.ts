import { expect, it } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import type { Call } from "../../runtime/call.ts";
import { silentLogger } from "../../runtime/log.ts";
import type { Buckets } from "../buckets.ts";
import { listing } from "../controller.fixture.ts";
import { locationFor } from "../domain/bucket-location.ts";
import { pendingClaimUids } from "../listed-now.ts";
import { OrphanSearch, searchOrphans } from "./orphans.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const uid = "476e33c4-5a17-46ea-a9ca-80f9ee95fed6";
const { bucket } = locationFor(`pvc-${uid}`, { kind: "own" });
const tags = { "s3.csi.scality.com/volume-id": bucket, "s3.csi.scality.com/cluster": "c-1" };

const minio = "minio" as StoreName;

/** Without a volume it is pending. */
function claim(ofUid: string, volumeName?: string) {
  return { metadata: { uid: ofUid }, spec: { volumeName } };
}

/** A store with one bucket of the driver, and an empty cluster. */
function orphanedBucket(store = defaultStore) {
  const reported: string[] = [];
  const world = {
    tags: tags as Record<string, string> | undefined,
    volumes: [] as string[],
    /** Of which the watch has not told yet. */
    unseen: [] as string[],
    claims: [] as object[],
    active: true,
  };
  const asked: string[] = [];
  const opened: string[] = [];
  const buckets = {
    async *names() {
      yield* ["unrelated", bucket];
    },
    tags: async (_call: unknown, name: string) => {
      asked.push(name);
      return world.tags === undefined ? { kind: "denied" } : { kind: "read", tags: world.tags };
    },
  } as unknown as Buckets;
  const dependencies = {
    openBuckets: async (_call: unknown, access: { readonly store: StoreName }) => {
      opened.push(access.store);
      return buckets;
    },
    clusterId: async () => "c-1",
    volumes: {
      hasBucket: async (_call: unknown, at: StoreName, name: string) => at === store && world.volumes.includes(name),
      bucketsListed: async (_call: unknown, at: StoreName) =>
        new Set(at === store ? [...world.volumes, ...world.unseen] : []),
    },
    pendingClaims: (each: Call) => pendingClaimUids(each, listing(world.claims)),
    isActive: async () => world.active,
    report: (_call: unknown, orphan: { readonly bucket: string }) => void reported.push(orphan.bucket),
  };
  return { world, dependencies, search: new OrphanSearch(dependencies, store), reported, asked, opened };
}

it("a bucket without a volume and a claim is reported by the second search that finds it, and by each one after it", async () => {
  const { search, reported } = orphanedBucket();
  expect(await search.run(call)).toBe("unsettled");
  expect(reported).toEqual([]);
  expect(await search.run(call)).toBe("settled");
  await search.run(call);
  expect(reported).toEqual([bucket, bucket]);
});

it.for([
  ["has a volume", { volumes: [bucket] }],
  ["has a volume that the cache does not have yet", { unseen: [bucket] }],
  ["has a pending claim", { claims: [claim("another"), claim(uid)] }],
  ["belongs to another cluster", { tags: { ...tags, "s3.csi.scality.com/cluster": "c-2" } }],
  ["was kept on purpose", { tags: { ...tags, "s3.csi.scality.com/kept": "policy" } }],
  ["has tags that cannot be read", { tags: undefined }],
  ["another replica reports", { active: false }],
] as const)("a bucket that %s is not reported", async ([, change]) => {
  const { world, search, reported } = orphanedBucket();
  Object.assign(world, change);
  await search.run(call);
  await search.run(call);
  expect(reported).toEqual([]);
});

it("ID-4 a bucket is reported although its claim exists, if the claim has a volume elsewhere", async () => {
  const { world, search, reported } = orphanedBucket();
  world.claims.push(claim(uid, `pvc-${uid}`));
  await search.run(call);
  await search.run(call);
  expect(reported).toEqual([bucket]);
});

it("a bucket that gets its volume before the second search is not reported", async () => {
  const { world, search, reported } = orphanedBucket();
  await search.run(call);
  world.volumes.push(bucket);
  expect(await search.run(call)).toBe("settled");
  expect(reported).toEqual([]);
});

it("reads no tags of buckets that are accounted for or cannot belong to a volume", async () => {
  const { world, search, asked } = orphanedBucket();
  world.tags = { ...tags, "s3.csi.scality.com/cluster": "c-2" };
  await search.run(call);
  await search.run(call);
  expect(asked).toEqual([bucket]);
});

it("an interval of 0 turns the search off", async () => {
  const { dependencies, asked } = orphanedBucket();
  await searchOrphans(call, dependencies, { stores: [defaultStore], times: { everyMs: 0, settleMs: 0 } });
  expect(asked).toEqual([]);
});

it("ID-4 a bucket of a named store is looked for and reported there", async () => {
  const { world, search, reported, opened } = orphanedBucket(minio);
  world.tags = { ...tags, "s3.csi.scality.com/volume-id": `${bucket}@minio` };
  await search.run(call);
  await search.run(call);
  expect(reported).toEqual([bucket]);
  expect(new Set(opened)).toEqual(new Set([minio]));
});

it("ID-4 a bucket whose tag names another store is not reported: one store may be listed under two names", async () => {
  const { search, reported } = orphanedBucket(minio);
  await search.run(call);
  await search.run(call);
  expect(reported).toEqual([]);
});

it("ID-4 a store that is away does not hold up the search at another", async () => {
  const { dependencies, reported } = orphanedBucket();
  const end = new AbortController();
  const openBuckets = async (_call: unknown, access: { readonly store: StoreName }) => {
    if (access.store === minio) throw new DriverError("notReady", "away");
    return await dependencies.openBuckets(_call, access);
  };
  const times = { everyMs: 1, settleMs: 1 };
  const report = (_call: unknown, orphan: { readonly bucket: string }) => {
    reported.push(orphan.bucket);
    end.abort();
  };
  await searchOrphans(
    { ...call, signal: end.signal },
    { ...dependencies, openBuckets, report },
    { stores: [minio, defaultStore], times },
  );
  expect(reported).toEqual([bucket]);
});
