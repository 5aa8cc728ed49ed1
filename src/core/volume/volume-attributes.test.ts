import { describe, expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { parseVolumeAttributes } from "./volume-attributes.ts";

/** The refusal, which has to be one that kubelet gets as InvalidArgument and a user can act on. */
function refusal(raw: Record<string, string>): DriverError {
  try {
    parseVolumeAttributes(raw);
  } catch (error) {
    if (error instanceof DriverError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

it("needs nothing but a bucket, and leaves alone what others put into the map", () => {
  const raw = { bucketName: "data", "csi.storage.k8s.io/pod.uid": "u", dynamicProvisioning: "true", unknown: "x" };
  expect(parseVolumeAttributes(raw)).toEqual({
    bucket: "data",
    authenticationSource: "driver",
    roleArn: undefined,
    store: { store: undefined, endpointUrl: undefined },
    serviceAccountName: undefined,
    region: undefined,
    prefix: undefined,
    resources: { requests: {}, limits: {} },
    cache: undefined,
    proxy: {},
  });
});

describe("bucketName", () => {
  it.for(["my.bucket-1", "s3://bucket/prefix/", "arn:aws:s3:::thing"])("takes %s", (bucketName) => {
    expect(parseVolumeAttributes({ bucketName }).bucket).toBe(bucketName);
  });

  it.for([
    [{}, "volumeAttributes.bucketName is required"],
    [{ bucketName: "" }, "volumeAttributes.bucketName is required"],
    [{ bucketName: "--profile=x" }, 'volumeAttributes.bucketName "--profile=x" is not the name of a bucket'],
    [{ bucketName: " data" }, 'volumeAttributes.bucketName " data" is not the name of a bucket'],
    [{ bucketName: "data " }, 'volumeAttributes.bucketName "data " is not the name of a bucket'],
    [{ bucketName: "da\nta" }, String.raw`volumeAttributes.bucketName "da\nta" is not the name of a bucket`],
  ] as const)("refuses %j", ([raw, message]) => {
    expect(refusal(raw).message).toBe(message);
  });

  it("does not repeat a whole novel in an event", () => {
    expect(refusal({ bucketName: `-${"x".repeat(5000)}` }).message.length).toBeLessThan(200);
  });
});

describe("authenticationSource", () => {
  it.for([
    [undefined, "driver"],
    ["", "driver"],
    ["driver", "driver"],
    ["secret", "secret"],
    ["pod", "pod"],
  ] as const)("%j → %s", ([value, expected]) => {
    const raw = { bucketName: "data", ...(value === undefined ? {} : { authenticationSource: value }) };
    expect(parseVolumeAttributes(raw).authenticationSource).toBe(expected);
  });

  it.for(["Pod", "Driver", "iam", "secret "])("refuses %j and names what to write instead", (authenticationSource) => {
    const error = refusal({ bucketName: "data", authenticationSource });
    expect(error.kind).toBe("invalid");
    expect(error.message).toContain(`volumeAttributes.authenticationSource "${authenticationSource}"`);
    expect(error.hint).toMatch(/use .*"secret" with a nodePublishSecretRef/);
    expect(error.hint).toContain('"driver"');
  });
});

it.for([
  ["mountpointPodServiceAccountName", "mount.er-1", "serviceAccountName"],
  ["region", "eu-west-1", "region"],
  ["mountPidNamespace", "host", "pidNamespace"],
] as const)("%s: takes %s, and treats empty as absent", ([attribute, value, field]) => {
  expect(parseVolumeAttributes({ bucketName: "data", [attribute]: value })[field]).toBe(value);
  expect(parseVolumeAttributes({ bucketName: "data", [attribute]: "" })[field]).toBeUndefined();
});

it.for([
  ["mountpointPodServiceAccountName", "Not_A_Name"],
  ["mountpointPodServiceAccountName", "x".repeat(254)],
  ["region", "eu west"],
  ["region", "--profile"],
  ["mountPidNamespace", "node"],
] as const)("refuses %s %j by name", ([attribute, value]) => {
  expect(refusal({ bucketName: "data", [attribute]: value }).message).toMatch(`volumeAttributes.${attribute} "`);
});

it("takes a prefix that ends with a slash", () => {
  expect(parseVolumeAttributes({ bucketName: "b", prefix: "a/b/" }).prefix).toBe("a/b/");
  for (const prefix of ["a", "/a/", "/"]) {
    expect(() => parseVolumeAttributes({ bucketName: "b", prefix })).toThrow(/volumeAttributes.prefix/);
  }
});
