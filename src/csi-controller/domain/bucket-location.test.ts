import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import { type BucketOptions, locationFor, parseVolumeId, wasCreatedFor, withPrefixOf } from "./bucket-location.ts";

const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const name = "pvc-476e33c4-5a17-46ea-a9ca-80f9ee95fed6";

const bucketOptions = fc.oneof(
  fc.constant<BucketOptions>({ kind: "own" }),
  fc.string().map<BucketOptions>((prefix) => ({ kind: "named", prefix })),
  fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/).map<BucketOptions>((bucket) => ({ kind: "shared", bucket })),
);
const names = fc.string({ minLength: 1, unit: "binary" });
/** Every name that the list of stores allows. */
const stores = fc.oneof(
  fc.constant(defaultStore),
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,14}[a-z0-9])?$/).map((each) => each as StoreName),
);

/** A shared bucket whose name is refused with that of the store gives way to one of the volume's own. */
function located(requestName: string, options: BucketOptions, store: StoreName) {
  try {
    return locationFor(requestName, options, store);
  } catch {
    return locationFor(requestName, { kind: "own" }, store);
  }
}

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
      fc.property(names, bucketOptions, stores, (each, options, store) => {
        expect(located(each, options, store).bucket).toMatch(bucketForm);
      }),
    );
  });

  it("follows from the volume ID alone, whose length CSI limits to 128 bytes", () => {
    fc.assert(
      fc.property(names, bucketOptions, stores, (each, options, store) => {
        const location = located(each, options, store);
        expect(parseVolumeId(location.volumeId)).toEqual(location);
        expect(Buffer.byteLength(location.volumeId)).toBeLessThanOrEqual(128);
      }),
    );
  });

  it("has a volume ID that names a bucket only if the bucket is the volume's own: 2.x deletes that bucket after a rollback", () => {
    fc.assert(
      fc.property(names, bucketOptions, stores, (each, options, store) => {
        const { volumeId, bucket } = located(each, options, store);
        expect(bucketForm.test(volumeId)).toBe(volumeId === bucket);
        // 2.x knows only the default store.
        expect(bucketForm.test(volumeId) && store !== defaultStore).toBe(false);
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

it("ID-4 a volume ID of a named store ends with it, and one of the default store is as before", () => {
  const minio = "minio" as StoreName;
  for (const options of [
    { kind: "own" },
    { kind: "named", prefix: "team" },
    { kind: "shared", bucket: "common" },
  ] as const) {
    const usual = locationFor(name, options);
    const named = locationFor(name, options, minio);
    expect(named).toEqual({ ...usual, volumeId: `${usual.volumeId}@minio`, store: minio });
    expect(usual.volumeId).not.toContain("@");
    expect(wasCreatedFor(named, name)).toBe(true);
    expect(wasCreatedFor(named, "pvc-other")).toBe(false);
  }
});

it("ID-4 a shared bucket and a store whose names are too long for a volume ID together are refused", () => {
  const bucket = "b".repeat(63);
  expect(() => locationFor(name, { kind: "shared", bucket }, "s".repeat(16) as StoreName)).toThrow(
    /parameters.sharedBucket b{63} and the name of the store are too long together by 6 characters/,
  );
  expect(locationFor(name, { kind: "shared", bucket }, "s".repeat(10) as StoreName).volumeId).toHaveLength(128);
});

describe("ID-4 the prefix of a volume below sharedBucketPrefix", () => {
  const options = { kind: "shared", bucket: "common", below: "team-a/" } as const;
  const location = locationFor(name, options);
  const parsed = parseVolumeId(location.volumeId) ?? location;

  it("ends with the part that the volume ID has", () => {
    expect(location.prefix).toBe(`team-a/${parsed.prefix}`);
    expect(location.volumeId).toBe(locationFor(name, { kind: "shared", bucket: "common" }).volumeId);
    expect(wasCreatedFor(location, name)).toBe(true);
  });

  it("is read from the PersistentVolume", () => {
    expect(withPrefixOf(parsed, location.prefix)).toEqual(location);
    expect(withPrefixOf(parsed, parsed.prefix)).toEqual(parsed);
  });

  it.for([
    ["no attribute", undefined],
    ["the prefix of another volume", `team-a/${locationFor("pvc-other", options).prefix}`],
    ["a directory of many volumes", "team-a/"],
    ["a name that only ends alike", `x${parsed.prefix}`],
  ] as const)("is that of the volume ID alone for %s", ([, attribute]) => {
    expect(withPrefixOf(parsed, attribute)).toEqual(parsed);
  });

  it("is never given to a volume with a bucket of its own, which would be emptied from there", () => {
    const own = locationFor(name, { kind: "own" });
    expect(withPrefixOf(own, `team-a/${own.bucket}/`)).toEqual(own);
  });
});

it.for([
  "",
  "my-bucket",
  "csi-s3-",
  "csi-s3-nonsense",
  name,
  "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6/other/x",
  "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6@",
  "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6@a@b",
  "csi-s3-476e33c4-5a17-46ea-a9ca-80f9ee95fed6@A",
])("refuses an ID that was never assigned to a volume: %j", (id) => {
  expect(parseVolumeId(id)).toBeUndefined();
});

it("parses the volume IDs of 2.x, which are random", () => {
  const id = "csi-s3-0f6f3f0e-8a55-4c0e-9a0c-6f0b1c7b2d10";
  expect(parseVolumeId(id)).toEqual({ volumeId: id, store: defaultStore, bucket: id, prefix: undefined });
});
