import { describe, expect, it } from "vitest";
import { livePrefix } from "../names.ts";
import { type LiveOptions, liveOptionsOf } from "./live-options.ts";

const gibibyte = 2 ** 30;

interface Given {
  readonly live: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly mountOptions?: readonly string[];
}

function liveOf({ live, attributes = {}, mountOptions = [] }: Given): LiveOptions {
  const annotations = Object.fromEntries(Object.entries(live).map(([name, value]) => [`${livePrefix}${name}`, value]));
  return liveOptionsOf({ annotations, attributes: { bucketName: "b", ...attributes }, mountOptions });
}

function annotationsOf(given: Given): Readonly<Record<string, string>> {
  const { annotations, refusals } = liveOf(given);
  expect(refusals).toEqual([]);
  return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name.slice(livePrefix.length), value]));
}

const refusalsOf = (given: Given) => liveOf(given).refusals.join("\n");

describe("mount options", () => {
  it.for([
    ["metadata-ttl 60,max-threads=32", "--max-threads=32,--metadata-ttl=60"],
    [
      "--metadata-ttl=indefinite\nnegative-metadata-ttl minimal\n",
      "--metadata-ttl=indefinite,--negative-metadata-ttl=minimal",
    ],
    ["metadata-ttl 0", "--metadata-ttl=0"],
    ["maximum-throughput-gbps 100", "--maximum-throughput-gbps=100"],
    ["part-size 134217728", "--part-size=134217728"],
    ["read-part-size 5242880, write-part-size 16777216", "--read-part-size=5242880,--write-part-size=16777216"],
    ["memory-target 512", "--memory-target=512"],
    ["aws-max-attempts 3", "--aws-max-attempts=3"],
    ["-d, debug-crt, log-metrics", "--debug,--debug-crt,--log-metrics"],
    ["no-log", "--no-log"],
    ["debug,debug, debug", "--debug"],
  ] as const)("%j → %j", ([text, expected]) => {
    expect(annotationsOf({ live: { mountOptions: text } })).toEqual({ mountOptions: expected });
  });

  it.for(["", " ", ",\n"])("%j is no option", (text) => {
    expect(annotationsOf({ live: { mountOptions: text } })).toEqual({});
  });

  it.for([
    ["prefix other/", "what a path leads to"],
    ["--prefix=other/", "what a path leads to"],
    ["region eu-west-1", "which object store is used"],
    ["endpoint-url http://other", "which object store is used"],
    ["ca-bundle /tmp/ca", "which object store is used"],
    ["profile admin", "for whom requests are made"],
    ["no-sign-request", "for whom requests are made"],
    ["requester-pays", "for whom requests are made"],
    ["expected-bucket-owner 1", "for whom requests are made"],
    ["uid 0", "who may do what"],
    ["gid 0", "who may do what"],
    ["dir-mode 777", "who may do what"],
    ["file-mode 777", "who may do what"],
    ["allow-delete", "who may do what"],
    ["allow-overwrite", "who may do what"],
    ["allow-other", "who may do what"],
    ["read-only", "who may do what"],
    ["sse AES256", "how objects are written"],
    ["upload-checksums off", "how objects are written"],
    ["storage-class GLACIER", "how objects are written"],
    ["cache /tmp", "an annotation of its own"],
    ["user-agent-prefix x", "chosen by the driver"],
    ["otlp-endpoint http://other", "chosen by the driver"],
    ["log-directory /tmp", "kubectl logs"],
    ["-l /tmp", "kubectl logs"],
    ["metadata-tll 60", "not known"],
    ["-o ro", "not known"],
    ["-df", "is not an option of mount-s3"],
    ["--", "is not an option of mount-s3"],
    ["metadata-ttl", "write seconds from 0"],
    ["metadata-ttl -1", "write seconds from 0"],
    ["metadata-ttl 1m", "write seconds from 0"],
    ["metadata-ttl 3153600001", "write seconds from 0"],
    ["max-threads 0", "write an integer from 1 to 256"],
    ["aws-max-attempts 65", "write an integer from 1 to 64"],
    ["max-threads 1e2", "write an integer from 1 to 256"],
    ["memory-target 511", "write an integer from 512"],
    ["part-size 5242879", "write an integer from 5242880"],
    ["part-size 134217729", "write an integer from 5242880"],
    ["debug true", "write it without a value"],
    ["metadata-ttl 1, metadata-ttl 2", "exclude each other"],
    ["no-log, debug", "exclude each other"],
    ["debug, no-log", "exclude each other"],
    ["part-size 8388608, read-part-size 8388608", "exclude each other"],
    ["max-cache-size 100", "needs a cache"],
  ] as const)("refuses %j, and names annotation, option and fix: %s", ([text, because]) => {
    const live = liveOf({ live: { mountOptions: `max-threads 4, ${text}` } });
    expect(live.refusals).toEqual([expect.stringContaining(because)]);
    expect(live.refusals[0]).toMatch(
      /^the annotation live\.s3\.csi\.scality\.com\/mountOptions is ignored: (mount )?option .*(-[a-z]|--).*\. In /s,
    );
    // Nothing of an annotation with a wrong option is used.
    expect(live.annotations).toEqual({});
  });

  it("a value that no program can be started with is refused", () => {
    const name = "mountpointEnv.NO_PROXY";
    expect(refusalsOf({ live: { [name]: "a".repeat(8193) } })).toContain("longer than 8192 characters");
    expect(refusalsOf({ live: { [name]: "a".repeat(8192) } })).toBe("");
  });

  it("a memory target above what the limit leaves is refused, whether limit and cache are live or not", () => {
    const mountOptions = "memory-target 1000";
    const limit = "mountpointContainerResourcesLimitsMemory";
    expect(refusalsOf({ live: { mountOptions }, attributes: { [limit]: "900Mi" } })).toContain("leaves, 900 MiB");
    expect(refusalsOf({ live: { mountOptions, [limit]: "900Mi" } })).toContain("leaves, 900 MiB");
    expect(refusalsOf({ live: { mountOptions, [limit]: "2Gi" }, attributes: { [limit]: "900Mi" } })).toBe("");
    const cache = { cache: "emptyDir", cacheEmptyDirMedium: "Memory", cacheEmptyDirSizeLimit: "1100Mi" };
    expect(refusalsOf({ live: { mountOptions, [limit]: "2Gi", ...cache } })).toContain("leaves, 948 MiB");
  });
});

describe("attributes", () => {
  it("take the place of those of the volume, one by one", () => {
    const attributes = {
      mountpointContainerResourcesRequestsMemory: "1Gi",
      mountpointContainerResourcesLimitsMemory: "2Gi",
      "mountpointEnv.NO_PROXY": "a",
    };
    const live = { mountpointContainerResourcesLimitsMemory: "4Gi", "mountpointEnv.HTTPS_PROXY": "http://proxy" };
    expect(liveOf({ live, attributes })).toMatchObject({
      attributes: { bucketName: "b", ...attributes, ...live },
      refusals: [],
    });
    expect(annotationsOf({ live, attributes })).toEqual(live);
  });

  it("an empty one takes that of the volume away", () => {
    const name = "mountpointContainerResourcesLimitsMemory";
    const { attributes, refusals } = liveOf({ live: { [name]: "" }, attributes: { [name]: "2Gi" } });
    expect([attributes[name], refusals]).toEqual(["", []]);
  });

  it.for([
    "bucketName",
    "prefix",
    "region",
    "authenticationSource",
    "mountpointPodServiceAccountName",
    "mountPidNamespace",
    "image",
    "mountpointContainerResourcesLimitMemory",
    "",
  ])("%j is refused", (name) => {
    const live = liveOf({ live: { [name]: "x", "mountpointEnv.NO_PROXY": "a" } });
    expect(live.refusals).toEqual([
      `the annotation ${livePrefix}${name} is ignored: it cannot change for a running mount. Remove it.`,
    ]);
    // Other annotations are used.
    expect(live.attributes).toEqual({ bucketName: "b", "mountpointEnv.NO_PROXY": "a" });
  });

  it.for([
    [{ mountpointContainerResourcesLimitsMemory: "lots" }, {}, '"lots" is not an amount'],
    [
      { mountpointContainerResourcesRequestsMemory: "4Gi" },
      { mountpointContainerResourcesLimitsMemory: "2Gi" },
      'volumeAttributes.mountpointContainerResourcesLimitsMemory "2Gi" is less than the request "4Gi"',
    ],
    [{ cache: "ssd" }, {}, 'cache "ssd" is not a kind of cache'],
    [{ cacheEmptyDirSizeLimit: "1Gi" }, {}, "cacheEmptyDirSizeLimit works only with cache: emptyDir"],
    [{ "mountpointEnv.AWS_PROFILE": "x" }, {}, "mountpointEnv.AWS_PROFILE cannot be set for a volume"],
  ] as const)("%j with %j is refused, and the attributes of the volume stay", ([live, attributes, because]) => {
    const found = liveOf({ live, attributes });
    expect(found.refusals).toEqual([expect.stringContaining(because)]);
    for (const name of Object.keys(live)) expect(found.refusals[0]).toContain(`annotation ${livePrefix}${name} `);
    expect(found).toMatchObject({ attributes: { bucketName: "b", ...attributes }, annotations: {} });
  });
});

describe("cache", () => {
  const emptyDir = { cache: "emptyDir", cacheEmptyDirSizeLimit: "10Gi" };
  const ephemeral = { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "1Gi" };

  it.for([
    [emptyDir, {}, [], "--cache=/cache,--max-cache-size=9728"],
    [emptyDir, ephemeral, [], "--cache=/cache,--max-cache-size=9728"],
    [{ cacheEmptyDirSizeLimit: "20Gi" }, emptyDir, [], "--cache=/cache,--max-cache-size=19456"],
    // A limit that the volume has on purpose stays.
    [{ cacheEmptyDirSizeLimit: "20Gi" }, emptyDir, ["max-cache-size=1000"], "--cache=/cache,--max-cache-size=1000"],
    [{ cacheEmptyDirSizeLimit: "1Gi" }, emptyDir, ["max-cache-size=1000"], "--cache=/cache,--max-cache-size=972"],
    [emptyDir, {}, ["cache /a,b"], "--cache=/cache,--max-cache-size=9728"],
    [{ ...emptyDir, mountOptions: "max-cache-size 5" }, {}, [], "--cache=/cache,--max-cache-size=5"],
    [{ mountOptions: "max-cache-size 5" }, emptyDir, [], "--cache=/cache,--max-cache-size=5"],
    [{ mountOptions: "max-cache-size 5" }, {}, ["cache"], "--cache=/cache,--max-cache-size=5"],
    [{ cache: "" }, emptyDir, ["max-cache-size=1000"], undefined],
    [{ cache: "" }, {}, ["cache"], undefined],
  ] as const)("annotations %j, attributes %j, options %j → %s", ([live, attributes, mountOptions, expected]) => {
    expect(annotationsOf({ live, attributes, mountOptions })["mountOptions"]).toBe(expected);
    expect(liveOf({ live, attributes, mountOptions }).cache === undefined).toBe(expected === undefined);
  });

  it("a size above that of the cache volume is refused", () => {
    const live = { mountOptions: "max-cache-size 9729" };
    expect(refusalsOf({ live, attributes: emptyDir })).toContain("more than 9728, 95 % of the cache volume");
    expect((9728 * 2 ** 20) / gibibyte).toBe(9.5);
  });
});
