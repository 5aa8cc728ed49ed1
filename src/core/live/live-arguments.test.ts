import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { livePrefix } from "../names.ts";
import { parseCacheVolume } from "../volume/cache-volume.ts";
import { mountArguments } from "../volume/mount-args.ts";
import { parseMountOption, rendered } from "../volume/mount-option.ts";
import { withLiveArguments } from "./live-arguments.ts";
import { withLive } from "./live-mount-options.ts";
import { liveOptionsOf } from "./live-options.ts";

const fixed = { readOnly: false, region: undefined, userAgentPrefix: "agent" } as const;
const annotated = (live: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(live).map(([name, value]) => [`${livePrefix}${name}`, value]));

describe("arguments with live ones in their place", () => {
  it.for([
    [["--metadata-ttl=1", "--uid=5"], "--metadata-ttl=60", ["--metadata-ttl=60", "--uid=5"]],
    [["--uid=5"], "--max-threads=2,--metadata-ttl=60", ["--max-threads=2", "--metadata-ttl=60", "--uid=5"]],
    [["-d", "--log-metrics"], "--no-log", ["--no-log"]],
    [["--no-log"], "--debug", ["--debug"]],
    [["-d"], "--debug", ["--debug"]],
    [["--part-size=9"], "--read-part-size=5242880", ["--read-part-size=5242880", "--write-part-size=9"]],
    [["--read-part-size=9", "--write-part-size=8"], "--part-size=5242880", ["--part-size=5242880"]],
    [
      ["--cache=/cache", "--max-cache-size=9"],
      "--cache=/cache,--max-cache-size=5",
      ["--cache=/cache", "--max-cache-size=5"],
    ],
    [["--cache=/x", "--max-cache-size=9"], "--cache=/cache", ["--cache=/cache"]],
    [["--prefix=a, b=c/"], "--metadata-ttl=60", ["--metadata-ttl=60", "--prefix=a, b=c/"]],
    [["--prefix= a/", "--user-agent-prefix=x "], "--debug", ["--debug", "--prefix= a/", "--user-agent-prefix=x "]],
  ] as const)("%j with %j → %j", ([args, mountOptions, expected]) => {
    expect(withLiveArguments(args, annotated({ mountOptions })).args).toEqual(expected);
  });

  it("a cache that is taken away leaves no size", () => {
    const { args } = withLiveArguments(["--cache=/cache", "--max-cache-size=9"], annotated({ cache: "" }));
    expect(args).toEqual([]);
  });

  it("attempts and proxy are for the environment", () => {
    const live = {
      mountOptions: "--aws-max-attempts=3",
      "mountpointEnv.HTTPS_PROXY": "http://p",
      "mountpointEnv.NO_PROXY": "",
    };
    expect(withLiveArguments([], annotated(live))).toEqual({
      args: [],
      maxAttempts: "3",
      proxy: { HTTPS_PROXY: "http://p", NO_PROXY: "" },
    });
  });

  it.for([
    { mountOptions: "--prefix=other/" },
    { mountOptions: "--metadata-ttl=60,--endpoint-url=http://other" },
    { mountOptions: "--cache=/etc" },
    { "mountpointEnv.AWS_PROFILE": "admin" },
  ])("%j, which somebody wrote on the Mountpoint Pod, is refused", (live) => {
    expect(() => withLiveArguments([], annotated(live))).toThrow(DriverError);
  });
});

/** MP-2. What a node plugin makes of recorded arguments is what the options of the volume give with the live ones in their place. */
describe("any options of a volume, with any live ones", () => {
  const own = fc.constantFrom(
    ...[
      "allow-delete",
      "allow-other",
      "uid=1001",
      "prefix=a b/",
      "metadata-ttl=30",
      "metadata-ttl 40",
      "max-threads=4",
    ],
    ...["no-log", "debug", "-d", "log-metrics", "part-size=8388608", "part-size=9388608", "read-part-size=7000000"],
    ...["cache", "cache /a,b", "max-cache-size=1000", "profile=x", "read-only", "aws-max-attempts=7", "bind=eth0"],
  );
  const live = fc.constantFrom(
    ...["metadata-ttl 60", "max-threads 32", "max-threads 33", "no-log", "debug", "-d", "log-metrics"],
    ...["part-size 16777216", "read-part-size 16777216", "write-part-size 16777216", "max-cache-size 50"],
    ...["aws-max-attempts 3", "memory-target 600", "prefix b/"],
  );
  const cache = fc.constantFrom(
    {},
    { cache: "" },
    { cache: "emptyDir" },
    { cache: "emptyDir", cacheEmptyDirSizeLimit: "10Gi" },
    { cache: "ephemeral", cacheEphemeralStorageResourceRequest: "1Gi" },
  );
  const any = fc.record({
    mountOptions: fc.array(own),
    attributes: cache,
    live: fc.tuple(fc.array(live, { maxLength: 4 }), cache),
    fsGroup: fc.constantFrom("", "2000"),
  });

  it("MP-2 recorded arguments with the live ones are those of the options with the live ones", () => {
    fc.assert(
      fc.property(any, ({ mountOptions, attributes, live: [options, liveCache], fsGroup }) => {
        const annotations = annotated({ ...liveCache, mountOptions: options.join(",") });
        const found = liveOptionsOf({ annotations, attributes, mountOptions });
        const spec = { ...fixed, fsGroup, prefix: undefined };
        const base = mountArguments({ ...spec, options: mountOptions, cache: parseCacheVolume(attributes) });
        const { args, maxAttempts = base.env["AWS_MAX_ATTEMPTS"] } = withLiveArguments(base.args, found.annotations);

        const accepted = (found.annotations[`${livePrefix}mountOptions`] ?? "").split(",").flatMap(parseMountOption);
        const isReplaced =
          accepted.some(({ key }) => key === "--cache") || found.annotations[`${livePrefix}cache`] === "";
        const kept = mountOptions.flatMap(parseMountOption).filter(({ key }) => !(isReplaced && ofCache.has(key)));
        const merged = withLive(kept, accepted).map(rendered);
        const expected = mountArguments({ ...spec, options: merged, cache: found.cache });
        expect(args).toEqual(expected.args);
        expect(maxAttempts).toBe(expected.env["AWS_MAX_ATTEMPTS"]);
      }),
    );
  });
});

const ofCache = new Set(["--cache", "--max-cache-size"]);
