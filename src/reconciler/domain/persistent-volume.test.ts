import { describe, expect, it } from "vitest";
import { plainStores } from "../../../test/support/fake-credentials.ts";
import { DriverError } from "../../core/errors.ts";
import { identityFor, s3VolumeFrom } from "./persistent-volume.ts";

const csi = { driver: "s3.csi.scality.com", volumeHandle: "handle", volumeAttributes: { bucketName: "data" } };
const metadata = { name: "pv-1" };

it("parses a volume of this driver", () => {
  expect(s3VolumeFrom(plainStores, { metadata, spec: { csi, mountOptions: ["allow-delete"] } })).toMatchObject({
    name: "pv-1",
    volumeId: "handle",
    mountOptions: ["allow-delete"],
    attributes: { bucket: "data" },
    credentials: { source: "driver", identity: "driver" },
  });
});

it.for([
  ["another driver", { csi: { ...csi, driver: "other.example.com", volumeAttributes: {} } }],
  ["no CSI driver at all", {}],
] as const)("passes over a volume of %s", ([, spec]) => {
  expect(s3VolumeFrom(plainStores, { metadata, spec })).toBeUndefined();
});

it.for([
  [true, true],
  [false, false],
  [undefined, false],
] as const)("with readOnly %s is read-only: %s", ([readOnly, expected]) => {
  const given = readOnly === undefined ? csi : { ...csi, readOnly };
  expect(s3VolumeFrom(plainStores, { metadata, spec: { csi: given } })?.readOnly).toBe(expected);
});

it("refuses a volume of this driver without a bucket", () => {
  expect(() => s3VolumeFrom(plainStores, { metadata, spec: { csi: { ...csi, volumeAttributes: {} } } })).toThrow(
    DriverError,
  );
});

it("refuses an invalid mount option, before anything is created for the volume", () => {
  expect(() => s3VolumeFrom(plainStores, { metadata, spec: { csi, mountOptions: ["-df"] } })).toThrow("mount option");
});

const plain = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
it.for([
  [{}, [], undefined],
  [{}, ["cache /x"], plain],
  [{ cache: "emptyDir" }, [], plain],
  [{ cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" }, ["cache /x"], { ...plain, sizeLimit: "1Gi" }],
] as const)("with attributes %j and options %j has the cache %j", ([attributes, mountOptions, cache]) => {
  const volumeAttributes = { bucketName: "data", ...attributes };
  expect(
    s3VolumeFrom(plainStores, { metadata, spec: { csi: { ...csi, volumeAttributes }, mountOptions } })?.cache,
  ).toEqual(cache);
});

describe("the identity", () => {
  const nodePublishSecretRef = { namespace: "team-a", name: "keys" };
  const identity = (authenticationSource: string, ref?: typeof nodePublishSecretRef) => {
    const volumeAttributes = { bucketName: "data", authenticationSource };
    const given = { ...csi, volumeAttributes, ...(ref && { nodePublishSecretRef: ref }) };
    const found = s3VolumeFrom(plainStores, { metadata, spec: { csi: given } });
    return found && identityFor(found, { namespace: "shop", account: "default" });
  };

  it.for([
    ["secret", nodePublishSecretRef, "secret:team-a/keys"],
    ["secret", undefined, "driver"], // classes of 2.x with a provisioner secret only
    ["driver", nodePublishSecretRef, "driver"],
    ["", undefined, "driver"],
  ] as const)("of source %j with secret %j is %s", ([source, ref, expected]) => {
    expect(identity(source, ref)).toBe(expected);
  });
});
