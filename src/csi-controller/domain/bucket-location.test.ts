import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BucketOptions, locationFor, parseVolumeId } from "./bucket-location.ts";

const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const name = "pvc-476e33c4-5a17-46ea-a9ca-80f9ee95fed6";

const bucketOptions = fc.oneof(
  fc.constant<BucketOptions>({ kind: "own" }),
  fc.string().map<BucketOptions>((prefix) => ({ kind: "named", prefix })),
  fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/).map<BucketOptions>((bucket) => ({ kind: "shared", bucket })),
);
const names = fc.string({ minLength: 1, unit: "binary" });

describe("the location of a volume", () => {
  it("is a bucket named like the volume, as in 2.x, unless the StorageClass says otherwise", () => {
    const { volumeId, bucket, prefix } = locationFor(name, { kind: "own" });
    expect(volumeId).toMatch(/^csi-s3-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect({ bucket, prefix }).toEqual({ bucket: volumeId, prefix: undefined });
  });

  it("needs a request name", () => {
    expect(() => locationFor("", { kind: "own" })).toThrow("name is required");
  });

  it("never changes for a request name: existing volumes are found by it", () => {
    expect(locationFor("pvc-1", { kind: "own" }).volumeId).toBe("csi-s3-200478cc-61b8-5f18-ac0a-7e1dc5fbcb96");
    expect(locationFor("pvc-1", { kind: "named", prefix: "team" }).bucket).toMatch(/^team-[0-9a-f]{16}$/);
  });

  it.for([
    ["team-a", /^team-a-[0-9a-f]{16}$/],
    ["Team_A.Data", /^team-a-data-[0-9a-f]{16}$/],
    ["-", /^csi-s3-[0-9a-f]{16}$/],
    ["x".repeat(100), /^x{46}-[0-9a-f]{16}$/],
  ] as const)("is a bucket whose name starts with bucketNamePrefix: %s", ([prefix, form]) => {
    expect(locationFor(name, { kind: "named", prefix }).bucket).toMatch(form);
  });

  it("is a valid bucket name for every request name and all options", () => {
    fc.assert(
      fc.property(names, bucketOptions, (each, options) => {
        expect(locationFor(each, options).bucket).toMatch(bucketForm);
      }),
    );
  });

  it("follows from the volume ID alone, whose length CSI limits to 128 bytes", () => {
    fc.assert(
      fc.property(names, bucketOptions, (each, options) => {
        const location = locationFor(each, options);
        expect(parseVolumeId(location.volumeId)).toEqual(location);
        expect(Buffer.byteLength(location.volumeId)).toBeLessThanOrEqual(128);
      }),
    );
  });

  it("has a volume ID that names a bucket only if the bucket is the volume's own: 2.x deletes that bucket after a rollback", () => {
    fc.assert(
      fc.property(names, bucketOptions, (each, options) => {
        const { volumeId, bucket } = locationFor(each, options);
        expect(bucketForm.test(volumeId)).toBe(volumeId === bucket);
        // Nor is the part before the first slash, which a lenient server might take for the bucket.
        expect(volumeId.split("/")[0] === bucket).toBe(volumeId === bucket);
      }),
    );
  });

  it("differs between request names", () => {
    fc.assert(
      fc.property(names, names, bucketOptions, (one, other, options) => {
        fc.pre(one !== other);
        expect(locationFor(one, options).volumeId).not.toBe(locationFor(other, options).volumeId);
      }),
    );
  });
});

it.for(["", "my-bucket", "csi-s3-", "csi-s3-nonsense", name, "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6/other/x"])(
  "refuses an ID that was never assigned to a volume: %j",
  (id) => {
    expect(parseVolumeId(id)).toBeUndefined();
  },
);

it("parses the volume IDs of 2.x, which are random", () => {
  const id = "csi-s3-0f6f3f0e-8a55-4c0e-9a0c-6f0b1c7b2d10";
  expect(parseVolumeId(id)).toEqual({ volumeId: id, bucket: id, prefix: undefined });
});
