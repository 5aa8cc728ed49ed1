import { describe, expect, it } from "vitest";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import { locationFor } from "./bucket-location.ts";
import {
  capacityOf,
  compareTags,
  deletePolicyIn,
  originOf,
  otherOwner,
  type Tags,
  tagsFor,
  tagsWhenKept,
  type VolumeSpec,
} from "./bucket-tags.ts";
import { parseClassParameters } from "./storage-class.ts";

function spec(raw: Readonly<Record<string, string>> = {}, required = 10n, limit = 0n, name = "pvc-1"): VolumeSpec {
  const parameters = parseClassParameters(raw, name);
  return {
    name,
    parameters,
    location: locationFor(name, parameters.bucket),
    capacity: { required, limit },
    cluster: "c-1",
  };
}

it.for([
  ["the same request", spec(), { kind: "same", capacityBytes: 10n }],
  ["unknown parameters", spec({ unknown: "x" }), { kind: "same", capacityBytes: 10n }],
  ["a size that fits", spec({}, 5n, 20n), { kind: "same", capacityBytes: 10n }],
  ["a limit that it just fits", spec({}, 0n, 10n), { kind: "same", capacityBytes: 10n }],
  ["a larger size", spec({}, 11n), { kind: "differs", reason: "was created with a capacity of 10 bytes" }],
  ["a smaller limit", spec({}, 0n, 9n), { kind: "differs", reason: "was created with a capacity of 10 bytes" }],
  [
    "another policy",
    spec({ deletePolicy: "purge" }),
    { kind: "differs", reason: "was created with other StorageClass parameters" },
  ],
  ["other tags", spec({ tags: "a=b" }), { kind: "differs", reason: "was created with other StorageClass parameters" }],
  ["another volume", spec({}, 10n, 0n, "pvc-2"), { kind: "foreign", reason: expect.stringContaining("csi-s3-") }],
] as const)("compares the tags of a bucket with %s", ([, request, verdict]) => {
  expect(compareTags(tagsFor(spec()), request)).toEqual(verdict);
});

it("a bucket that has only foreign tags is untagged", () => {
  expect(compareTags({ team: "a" }, spec())).toEqual({ kind: "untagged" });
});

it("the tags name volume, claim, cluster, request and deletePolicy", () => {
  const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
  const request = spec({ ...claim, tags: "team=a", deletePolicy: "retain" });
  expect(tagsFor(request)).toEqual({
    team: "a",
    "s3.csi.scality.com/volume-id": request.location.volumeId,
    "s3.csi.scality.com/pv-name": "pvc-1",
    "s3.csi.scality.com/claim": "team-a/data",
    "s3.csi.scality.com/cluster": "c-1",
    "s3.csi.scality.com/capacity": "10",
    "s3.csi.scality.com/parameters": expect.stringMatching(/^[0-9a-f]{64}$/),
    "s3.csi.scality.com/delete-policy": "retain",
  });
  expect(deletePolicyIn(tagsFor(request))).toBe("retain");
  expect(otherOwner(tagsFor(request), request.location)).toBeUndefined();
  expect(otherOwner(tagsFor(request), spec({}, 1n, 0n, "pvc-2").location)).toBe(request.location.volumeId);
  expect(otherOwner({}, request.location)).toBeUndefined();
});

it("ID-4 a bucket of a volume on another store is foreign: the stores may be one, under two names", () => {
  const named = { ...spec(), location: locationFor("pvc-1", { kind: "own" }, "minio" as StoreName) };
  expect(compareTags(tagsFor(spec()), named)).toMatchObject({ kind: "foreign" });
  expect(compareTags(tagsFor(named), named)).toMatchObject({ kind: "same" });
});

it("ID-4 neither store nor role changes what an earlier version recorded of the parameters", () => {
  const pod = { authenticationSource: "pod", roleArn: "arn:aws:iam::1:role/a", store: "minio" };
  expect(compareTags(tagsFor(spec()), spec(pod))).toEqual({ kind: "same", capacityBytes: 10n });
});

it("a request name that is no valid tag value is left out", () => {
  expect(tagsFor(spec({}, 1n, 0n, "ü*"))).not.toHaveProperty("s3.csi.scality.com/pv-name");
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

describe("the origin of a bucket without a PersistentVolume", () => {
  const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
  const own = spec(claim);
  const named = spec({ ...claim, bucketNamePrefix: "team" });
  const baseVolumeId = own.location.volumeId;

  it.for<readonly [string, string, Tags, ReturnType<typeof originOf>]>([
    ["of a volume", own.location.bucket, tagsFor(own), { kind: "volume", baseVolumeId, claim: "team-a/data" }],
    [
      "with a readable name",
      named.location.bucket,
      tagsFor(named),
      { kind: "volume", baseVolumeId, claim: "team-a/data" },
    ],
    ["of another cluster", own.location.bucket, tagsFor({ ...own, cluster: "c-2" }), { kind: "accountedFor" }],
    ["of an unknown cluster", own.location.bucket, tagsFor({ ...own, cluster: undefined }), { kind: "accountedFor" }],
    ["that was kept", own.location.bucket, tagsWhenKept(tagsFor(own), "policy") ?? {}, { kind: "accountedFor" }],
    [
      "that an operator has tagged as kept",
      own.location.bucket,
      { "s3.csi.scality.com/kept": "" },
      { kind: "accountedFor" },
    ],
    ["created, but not tagged", own.location.bucket, {}, { kind: "untagged", baseVolumeId }],
    ["not created by the driver", named.location.bucket, { team: "a" }, { kind: "foreign" }],
  ])("%s", ([, bucket, tags, trace]) => {
    expect(originOf(bucket, tags, { store: defaultStore, cluster: "c-1" })).toEqual(trace);
  });

  it("ID-4 belongs to the store that its tag names, and to no other", () => {
    const store = "minio" as StoreName;
    const elsewhere = { ...own, location: locationFor(own.name, { kind: "own" }, store) };
    const { bucket } = elsewhere.location;
    expect(originOf(bucket, tagsFor(elsewhere), { store, cluster: "c-1" })).toMatchObject({
      kind: "volume",
      baseVolumeId,
    });
    for (const [each, at] of [
      [elsewhere, defaultStore],
      [own, store],
    ] as const) {
      expect(originOf(bucket, tagsFor(each), { store: at, cluster: "c-1" })).toEqual({ kind: "accountedFor" });
    }
  });

  it("a bucket without tags of the driver gets no tag when it is kept", () => {
    expect(tagsWhenKept({ team: "a" }, "policy")).toBeUndefined();
  });
});
