import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BucketWish, placeFrom, placeOf } from "./dynamic-volume.ts";

const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const name = "pvc-476e33c4-5a17-46ea-a9ca-80f9ee95fed6";

const wishes = fc.oneof(
  fc.constant<BucketWish>({ kind: "own" }),
  fc.string().map<BucketWish>((prefix) => ({ kind: "named", prefix })),
  fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/).map<BucketWish>((bucket) => ({ kind: "shared", bucket })),
);
const names = fc.string({ minLength: 1, unit: "binary" });

describe("the place of a volume", () => {
  it("is named like the volume, as in 2.x, unless the class wishes otherwise", () => {
    const { id, bucket, prefix } = placeOf(name, { kind: "own" });
    expect(id).toMatch(/^csi-s3-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect({ bucket, prefix }).toEqual({ bucket: id, prefix: undefined });
  });

  it("never changes for a name: volumes that exist are found by it", () => {
    expect(placeOf("pvc-1", { kind: "own" }).id).toBe("csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96");
    expect(placeOf("pvc-1", { kind: "named", prefix: "team" }).bucket).toMatch(/^team-[0-9a-f]{16}$/);
  });

  it.for([
    ["team-a", /^team-a-[0-9a-f]{16}$/],
    ["Team_A.Data", /^team-a-data-[0-9a-f]{16}$/],
    ["-", /^csi-s3-[0-9a-f]{16}$/],
    ["x".repeat(100), /^x{46}-[0-9a-f]{16}$/],
  ] as const)("begins with what the class says: %s", ([prefix, form]) => {
    expect(placeOf(name, { kind: "named", prefix }).bucket).toMatch(form);
  });

  it("is a name that S3 takes, for every request and wish", () => {
    fc.assert(
      fc.property(names, wishes, (each, wish) => {
        expect(placeOf(each, wish).bucket).toMatch(bucketForm);
      }),
    );
  });

  it("is found again by its id alone, whose length CSI limits to 128 bytes", () => {
    fc.assert(
      fc.property(names, wishes, (each, wish) => {
        const place = placeOf(each, wish);
        expect(placeFrom(place.id)).toEqual(place);
        expect(Buffer.byteLength(place.id)).toBeLessThanOrEqual(128);
      }),
    );
  });

  it("has an id that names a bucket only if that bucket is its own: 2.x deletes it after a rollback", () => {
    fc.assert(
      fc.property(names, wishes, (each, wish) => {
        const { id, bucket } = placeOf(each, wish);
        expect(bucketForm.test(id)).toBe(id === bucket);
        // Nor does what a lenient server might take for the bucket.
        expect(id.split("/")[0] === bucket).toBe(id === bucket);
      }),
    );
  });

  it("differs between requests", () => {
    fc.assert(
      fc.property(names, names, wishes, (one, other, wish) => {
        fc.pre(one !== other);
        expect(placeOf(one, wish).id).not.toBe(placeOf(other, wish).id);
      }),
    );
  });
});

it.for(["", "my-bucket", "csi-s3-", "csi-s3-nonsense", name, "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6/other/x"])(
  "an id that was never given to a volume is none: %j",
  (id) => {
    expect(placeFrom(id)).toBeUndefined();
  },
);

it("knows the ids of 2.x, which are random", () => {
  const id = "csi-s3-0f6f3f0e-8a55-4c0e-9a0c-6f0b1c7b2d10";
  expect(placeFrom(id)).toEqual({ id, bucket: id, prefix: undefined });
});
