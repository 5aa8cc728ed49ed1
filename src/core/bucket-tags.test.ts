import { expect, it } from "vitest";
import { belongsToAnother, capacityOf, deletePolicyIn, judge, tagsFor, type Wanted } from "./bucket-tags.ts";
import { placeOf } from "./dynamic-volume.ts";
import { parseClassParameters } from "./storage-class.ts";

function wanted(raw: Readonly<Record<string, string>> = {}, required = 10n, limit = 0n, name = "pvc-1"): Wanted {
  const parameters = parseClassParameters(raw, name);
  return { name, parameters, place: placeOf(name, parameters.bucket), capacity: { required, limit } };
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
    "s3.csi.scality.com/capacity": "10",
    "s3.csi.scality.com/parameters": expect.stringMatching(/^[0-9a-f]{64}$/),
    "s3.csi.scality.com/delete-policy": "retain",
  });
  expect(deletePolicyIn(tagsFor(request))).toBe("retain");
  expect(belongsToAnother(tagsFor(request), request.place)).toBe(false);
  expect(belongsToAnother(tagsFor(request), wanted({}, 1n, 0n, "pvc-2").place)).toBe(true);
  expect(belongsToAnother({}, request.place)).toBe(false);
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
