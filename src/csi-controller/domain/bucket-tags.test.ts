import { describe, expect, it } from "vitest";
import {
  capacityOf,
  deletePolicyIn,
  judge,
  otherOwner,
  type Tags,
  tagsFor,
  tagsWhenKept,
  traceOn,
  type Wanted,
} from "./bucket-tags.ts";
import { placeOf } from "./dynamic-volume.ts";
import { parseClassParameters } from "./storage-class.ts";

function wanted(raw: Readonly<Record<string, string>> = {}, required = 10n, limit = 0n, name = "pvc-1"): Wanted {
  const parameters = parseClassParameters(raw, name);
  return { name, parameters, place: placeOf(name, parameters.bucket), capacity: { required, limit }, cluster: "c-1" };
}

it.for([
  ["the same request", wanted(), { kind: "same", capacityBytes: 10n }],
  ["parameters that nobody knows", wanted({ unknown: "x" }), { kind: "same", capacityBytes: 10n }],
  ["a size that fits", wanted({}, 5n, 20n), { kind: "same", capacityBytes: 10n }],
  ["a larger size", wanted({}, 11n), { kind: "differs", because: "it was made with a size of 10 bytes" }],
  ["a smaller limit", wanted({}, 0n, 9n), { kind: "differs", because: "it was made with a size of 10 bytes" }],
  [
    "another policy",
    wanted({ deletePolicy: "purge" }),
    { kind: "differs", because: "it was made with other parameters" },
  ],
  ["other tags", wanted({ tags: "a=b" }), { kind: "differs", because: "it was made with other parameters" }],
  ["another volume", wanted({}, 10n, 0n, "pvc-2"), { kind: "foreign", because: expect.stringContaining("csi-s3-") }],
] as const)("a marked bucket and %s", ([, request, verdict]) => {
  expect(judge(tagsFor(wanted()), request)).toEqual(verdict);
});

it("a bucket with tags of somebody else's only is not marked", () => {
  expect(judge({ team: "a" }, wanted())).toEqual({ kind: "unmarked" });
});

it("the tags tell whose the bucket is, what was asked for and what becomes of it", () => {
  const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
  const request = wanted({ ...claim, tags: "team=a", deletePolicy: "retain" });
  expect(tagsFor(request)).toEqual({
    team: "a",
    "s3.csi.scality.com/volume-id": request.place.id,
    "s3.csi.scality.com/pv-name": "pvc-1",
    "s3.csi.scality.com/claim": "team-a/data",
    "s3.csi.scality.com/cluster": "c-1",
    "s3.csi.scality.com/capacity": "10",
    "s3.csi.scality.com/parameters": expect.stringMatching(/^[0-9a-f]{64}$/),
    "s3.csi.scality.com/delete-policy": "retain",
  });
  expect(deletePolicyIn(tagsFor(request))).toBe("retain");
  expect(otherOwner(tagsFor(request), request.place)).toBeUndefined();
  expect(otherOwner(tagsFor(request), wanted({}, 1n, 0n, "pvc-2").place)).toBe(request.place.id);
  expect(otherOwner({}, request.place)).toBeUndefined();
});

it("a name that no tag can hold is left out", () => {
  expect(tagsFor(wanted({}, 1n, 0n, "ü*"))).not.toHaveProperty("s3.csi.scality.com/pv-name");
});

it.for([
  [0n, 0n, 1n << 30n],
  [5n, 0n, 5n],
  [5n, 9n, 5n],
  [0n, 9n, 9n],
  [0n, 1n << 40n, 1n << 30n],
] as const)("%d bytes required, %d at most: %d", ([required, limit, capacity]) => {
  expect(capacityOf({ required, limit })).toBe(capacity);
});

describe("the trace on a bucket without a volume", () => {
  const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
  const own = wanted(claim);
  const named = wanted({ ...claim, bucketNamePrefix: "team" });
  const ownId = own.place.id;

  it.for<readonly [string, string, Tags, ReturnType<typeof traceOn>]>([
    ["of a volume", own.place.bucket, tagsFor(own), { kind: "of", ownId, claim: "team-a/data" }],
    ["with a readable name", named.place.bucket, tagsFor(named), { kind: "of", ownId, claim: "team-a/data" }],
    ["of another cluster", own.place.bucket, tagsFor({ ...own, cluster: "c-2" }), { kind: "accountedFor" }],
    [
      "of nobody knows which cluster",
      own.place.bucket,
      tagsFor({ ...own, cluster: undefined }),
      { kind: "accountedFor" },
    ],
    ["that was kept", own.place.bucket, tagsWhenKept(tagsFor(own), "policy") ?? {}, { kind: "accountedFor" }],
    ["that somebody keeps", own.place.bucket, { "s3.csi.scality.com/kept": "" }, { kind: "accountedFor" }],
    ["made, but not marked", own.place.bucket, {}, { kind: "unmarked", ownId }],
    ["of somebody else", named.place.bucket, { team: "a" }, { kind: "foreign" }],
  ])("%s", ([, bucket, tags, trace]) => {
    expect(traceOn(bucket, tags, "c-1")).toEqual(trace);
  });

  it("is not made on a bucket that was never marked", () => {
    expect(tagsWhenKept({ team: "a" }, "policy")).toBeUndefined();
  });
});
