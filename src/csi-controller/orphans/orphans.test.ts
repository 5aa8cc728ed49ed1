import { expect, it } from "vitest";
import { silentLogger } from "../../runtime/log.ts";
import type { BucketActions } from "../csi-controller-parts.ts";
import { placeOf } from "../domain/dynamic-volume.ts";
import { OrphanSearch } from "./orphans.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const uid = "476e33c4-5a17-46ea-a9ca-80f9ee95fed6";
const { bucket } = placeOf(`pvc-${uid}`, { kind: "own" });
const tags = { "s3.csi.scality.com/volume-id": bucket, "s3.csi.scality.com/cluster": "c-1" };

/** A store with one bucket, and a cluster with nothing in it. */
function lonely() {
  const reported: string[] = [];
  const world = { tags: tags as Record<string, string>, volumes: [] as string[], claims: [] as string[], turn: true };
  const asked: string[] = [];
  const buckets = {
    async *names() {
      yield* ["of-people", bucket];
    },
    tags: async (_call: unknown, name: string) => {
      asked.push(name);
      return { kind: "read", tags: world.tags };
    },
  } as unknown as BucketActions;
  const search = new OrphanSearch({
    access: async () => ({ credentials: undefined as never, region: "us-east-1", regionAskedBy: undefined }),
    store: { as: () => buckets },
    clusterId: async () => "c-1",
    volumes: { haveBucket: async (_call, name) => world.volumes.includes(name) },
    async *claims() {
      yield* world.claims;
    },
    isOurTurn: async () => world.turn,
    report: async (_call, orphan) => void reported.push(orphan.bucket),
  });
  return { world, search, reported, asked };
}

it("a bucket without a volume and without a claim is reported when it is seen a second time, and then every time", async () => {
  const { search, reported } = lonely();
  expect(await search.look(call)).toBe("unsettled");
  expect(reported).toEqual([]);
  expect(await search.look(call)).toBe("settled");
  await search.look(call);
  expect(reported).toEqual([bucket, bucket]);
});

it.for([
  ["has a volume", { volumes: [bucket] }],
  ["has a claim that waits", { claims: ["another", uid] }],
  ["belongs to another cluster", { tags: { ...tags, "s3.csi.scality.com/cluster": "c-2" } }],
  ["was kept on purpose", { tags: { ...tags, "s3.csi.scality.com/kept": "policy" } }],
  ["is somebody else's to report", { turn: false }],
] as const)("one that %s is not", async ([, change]) => {
  const { world, search, reported } = lonely();
  Object.assign(world, change);
  await search.look(call);
  await search.look(call);
  expect(reported).toEqual([]);
});

it("what has got its volume meanwhile was no orphan", async () => {
  const { world, search, reported } = lonely();
  await search.look(call);
  world.volumes.push(bucket);
  expect(await search.look(call)).toBe("settled");
  expect(reported).toEqual([]);
});

it("asks the store about nothing that is known, and about nothing that cannot be a volume's", async () => {
  const { world, search, asked } = lonely();
  world.tags = { ...tags, "s3.csi.scality.com/cluster": "c-2" };
  await search.look(call);
  await search.look(call);
  expect(asked).toEqual([bucket]);
});
