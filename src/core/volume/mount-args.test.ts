import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { asksForCache, type MountWish, mountArguments, userAgentPrefix } from "./mount-args.ts";

const agent = "s3-csi-driver/3.0.0 credential-source#driver";
const always = ["--allow-root", "--force-path-style", `--user-agent-prefix=${agent}`];

function wish(part: Partial<MountWish> = {}): MountWish {
  return {
    options: [],
    readOnly: false,
    fsGroup: "",
    region: undefined,
    prefix: undefined,
    cache: undefined,
    userAgentPrefix: agent,
    ...part,
  };
}

/** What the options add to the arguments that every mount has. */
function argsOf(part: Partial<MountWish>): string[] {
  return mountArguments(wish(part)).args.filter((arg) => !always.includes(arg));
}

describe("reading options", () => {
  it.for([
    [["allow-delete"], ["--allow-delete"]],
    [["region us-west-2"], ["--region=us-west-2"]],
    [["  --uid    1000"], ["--uid=1000"]],
    [["-l logs/"], ["-l=logs/"]],
    [["prefix env=prod/app=web/"], ["--prefix=env=prod/app=web/"]],
    [["prefix=a/b c/"], ["--prefix=a/b c/"]],
    [["prefix=  a/ "], ["--prefix=a/"]],
    [["prefix="], ["--prefix="]],
    [
      ["sse=aws:kms", "sse-kms-key-id=arn:x"],
      ["--sse-kms-key-id=arn:x", "--sse=aws:kms"],
    ],
    [["", "   "], []],
  ] as const)("%j → %j", ([options, expected]) => {
    expect(argsOf({ options })).toEqual(expected);
  });

  it.for(["--foreground", "-f", "--help", "-h", "--version", "-v", "-V"])("drops %s without a word", (option) => {
    const { args, warnings } = mountArguments(wish({ options: [option, option] }));
    expect(args).toEqual(always);
    expect(warnings).toEqual([]);
  });

  it.for(["--", "-", "---prefix=x", "-df", "-profile x", "=x"])(
    "refuses %j, which would hide from the rules below",
    (option) => {
      expect(() => mountArguments(wish({ options: [option] }))).toThrow(DriverError);
      expect(() => mountArguments(wish({ options: [option] }))).toThrow(JSON.stringify(option));
    },
  );

  it("sorts by bytes, not by UTF-16 units", () => {
    // U+1F600 is a surrogate pair in UTF-16 and sorts before U+FF5E there; its UTF-8 bytes sort after.
    expect(argsOf({ options: ["\u{1F600}", "\uFF5E"] })).toEqual(["--\uFF5E", "--\u{1F600}"]);
  });
});

describe("what every mount has", () => {
  it("is root's access, path style and our user agent", () => {
    expect(mountArguments(wish())).toEqual({ args: always, env: {}, readOnly: false, warnings: [] });
  });

  it("ID-4 a store with the bucket in the host name gets no path style, also if the volume asks for it", () => {
    const store = { pathStyle: false, uploadChecksums: undefined };
    const { args } = mountArguments(wish({ store, options: ["force-path-style"] }));
    expect(args).not.toContain("--force-path-style");
  });

  it.for([
    [[], "--upload-checksums=crc64nvme"],
    [["upload-checksums=off"], "--upload-checksums=off"],
  ] as const)(
    "ID-5 checksums are those of the store, unless the volume has an option: %j → %s",
    ([options, expected]) => {
      const store = { pathStyle: true, uploadChecksums: "crc64nvme" } as const;
      expect(argsOf({ store, options })).toEqual([expected]);
    },
  );

  it("puts our user agent in place of the user's", () => {
    expect(mountArguments(wish({ options: ["user-agent-prefix=mine"] })).args).toEqual(always);
  });

  it.for([
    [undefined, "s3-csi-driver/3.0.0 credential-source#secret"],
    ["v1.36.3", "s3-csi-driver/3.0.0 credential-source#secret k8s/v1.36.3"],
  ] as const)("names driver, keys and server version %s in the user agent", ([kubernetesVersion, expected]) => {
    expect(userAgentPrefix({ driverVersion: "3.0.0", credentialSource: "secret", kubernetesVersion })).toBe(expected);
  });

  it("hands AWS_MAX_ATTEMPTS over in the environment", () => {
    const { args, env } = mountArguments(wish({ options: ["aws-max-attempts 5"] }));
    expect(env).toEqual({ AWS_MAX_ATTEMPTS: "5" });
    expect(args).toEqual(always);
  });

  it.for([
    [[], "eu-west-1", ["--region=eu-west-1"]],
    [["region=us-west-2"], "eu-west-1", ["--region=us-west-2"]],
    [[], undefined, []],
  ] as const)("options %j and volume region %s → %j", ([options, region, expected]) => {
    expect(argsOf({ options, region })).toEqual(expected);
  });
});

describe("read-only", () => {
  it.for([
    [[], false, false],
    [[], true, true],
    [["read-only"], false, true],
    [["--read-only"], true, true],
  ] as const)("options %j, request %s → %s, and mount-s3 never sees it", ([options, readOnly, expected]) => {
    const result = mountArguments(wish({ options, readOnly }));
    expect(result.readOnly).toBe(expected);
    expect(result.args).toEqual(always);
  });
});

describe("fsGroup", () => {
  const other = ["--force-path-style", `--user-agent-prefix=${agent}`];

  it.for([
    {
      because: "the group gets its own modes",
      fsGroup: "2000",
      options: [],
      args: ["--allow-other", "--dir-mode=770", "--file-mode=660", "--gid=2000"],
    },
    {
      because: "modes given by hand stay",
      fsGroup: "2000",
      options: ["file-mode=600", "allow-other"],
      args: ["--allow-other", "--dir-mode=770", "--file-mode=600", "--gid=2000"],
    },
    {
      because: "a gid given by hand switches all four off",
      fsGroup: "2000",
      options: ["gid=5"],
      args: ["--allow-root", "--gid=5"],
    },
    {
      because: "mount-s3 refuses gid 0 and has that group anyway",
      fsGroup: "0",
      options: [],
      args: ["--allow-other", "--dir-mode=770", "--file-mode=660"],
    },
    {
      because: "the group beats allow-root",
      fsGroup: "7",
      options: ["allow-root"],
      args: ["--allow-other", "--dir-mode=770", "--file-mode=660", "--gid=7"],
    },
  ])("$because", ({ fsGroup, options, args }) => {
    expect(mountArguments(wish({ fsGroup, options })).args).toEqual([...args, ...other].toSorted());
  });
});

describe("policy", () => {
  const refused = [
    "--profile",
    "--endpoint-url",
    "--cache-xz",
    "--incremental-upload",
    "--storage-class",
    "-o",
    "--auto-unmount",
    "--log-directory=/var/log",
    "-l /etc",
    "-l ../etc",
  ];

  it.for(refused)("leaves out every %s with one warning, and mounts", (option) => {
    const [name = ""] = option.split(/[ =]/);
    const { args, warnings } = mountArguments(wish({ options: [option, "allow-delete", `${name} /other`, option] }));
    expect(args).toEqual(["--allow-delete", ...always]);
    expect(warnings).toEqual([`mount option ${name} cannot be used here and was left out`]);
  });

  it("prefers allow-other to allow-root", () => {
    const { args } = mountArguments(wish({ options: ["allow-root", "allow-other", "allow-root"] }));
    expect(args).toContain("--allow-other");
    expect(args).not.toContain("--allow-root");
  });

  it.for(["debug", "-d", "debug-crt", "log-metrics", "log-directory=logs", "-l /tmp/logs"])(
    "gives a log to whoever asks for %s beside no-log",
    (option) => {
      const { args, warnings } = mountArguments(wish({ options: ["no-log", option] }));
      expect(args).not.toContain("--no-log");
      expect(args).toHaveLength(always.length + 1);
      expect(warnings).toEqual(["mount option --no-log cannot be used here and was left out"]);
    },
  );

  it("keeps no-log where nothing speaks against it", () => {
    expect(argsOf({ options: ["no-log"] })).toEqual(["--no-log"]);
  });

  it.for([
    [["uid=2000", "uid=1000"], "--uid=1000", ["--uid=2000"]],
    [["-l b", "log-directory=c"], "--log-directory=c", ["-l=b"]],
    [["-d", "debug"], "--debug", ["-d"]],
    [["uid=1", "uid 1"], "--uid=1", []],
  ] as const)("of %j takes %s, the first by bytes, and says so", ([options, kept, lost]) => {
    const { args, warnings } = mountArguments(wish({ options }));
    expect(args.filter((arg) => !always.includes(arg))).toEqual([kept]);
    expect(warnings).toEqual(lost.map((text) => `mount option ${text} was left out, because ${kept} was given, too`));
  });

  it("keeps every network interface, the only option that mount-s3 takes twice", () => {
    expect(argsOf({ options: ["bind eth1", "bind eth0", "bind eth1"] })).toEqual(["--bind=eth0", "--bind=eth1"]);
  });
});

describe("for any options", () => {
  const name = fc.constantFrom("uid", "gid", "prefix", "allow-other", "allow-root", "no-log", "debug", "-d", "-l");
  const rejected = fc.constantFrom("read-only", "profile", "-o", "auto-unmount", "aws-max-attempts", "bind", "-f");
  const value = fc.oneof(fc.constant(""), fc.constantFrom("=1", " 2", "=a b", "=logs/", "=/etc"));
  const option = fc.tuple(fc.oneof(name, rejected), value).map(([key, rest]) => `${key}${rest}`);
  const any = fc.record({
    options: fc.array(option),
    fsGroup: fc.constantFrom("", "0", "2000"),
    region: fc.constantFrom(undefined, "eu-west-1"),
  });

  it("the list given twice in any order gives the same mount", () => {
    const shuffled = any.chain((part) => {
      const twice = [...part.options, ...part.options];
      return fc.tuple(
        fc.constant(part),
        fc.shuffledSubarray(twice, { minLength: twice.length, maxLength: twice.length }),
      );
    });
    fc.assert(
      fc.property(shuffled, ([part, options]) => {
        expect(mountArguments(wish({ ...part, options }))).toEqual(mountArguments(wish(part)));
      }),
    );
  });

  it("the arguments as options give the same arguments", () => {
    fc.assert(
      fc.property(any, (part) => {
        const { args } = mountArguments(wish(part));
        expect(mountArguments(wish({ ...part, options: args })).args).toEqual(args);
      }),
    );
  });

  it("every key is given once, one kind of access is allowed, and nothing refused is left", () => {
    fc.assert(
      fc.property(any, (part) => {
        const { args } = mountArguments(wish(part));
        const keys = args.map((arg) => arg.split("=")[0] ?? "").filter((key) => key !== "--bind");
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys.filter((key) => key === "--allow-other" || key === "--allow-root")).toHaveLength(1);
        for (const key of ["--read-only", "--profile", "-o", "--auto-unmount", "--aws-max-attempts", "-f"]) {
          expect(keys).not.toContain(key);
        }
      }),
    );
  });
});

const disk = (sizeLimit?: string) => ({ kind: "emptyDir", medium: "", sizeLimit }) as const;

describe("the cache", () => {
  it.for([
    [undefined, [], []],
    [undefined, ["cache /somewhere"], ["--cache=/somewhere"]], // the mounter knows the real place
    [disk(), [], ["--cache=/cache"]],
    [disk(), ["max-cache-size 5000"], ["--cache=/cache", "--max-cache-size=5000"]],
    [disk("1Gi"), [], ["--cache=/cache", "--max-cache-size=972"]],
    [disk("100M"), ["cache=/x"], ["--cache=/x", "--max-cache-size=90"]],
    [disk("1Gi"), ["max-cache-size=500"], ["--cache=/cache", "--max-cache-size=500"]],
    [disk("1Gi"), ["max-cache-size=0"], ["--cache=/cache", "--max-cache-size=0"]],
    [disk("1Gi"), ["max-cache-size=972"], ["--cache=/cache", "--max-cache-size=972"]],
    [
      { kind: "ephemeral", storageClassName: undefined, storageRequest: "10Gi" },
      [],
      ["--cache=/cache", "--max-cache-size=9728"],
    ],
  ] as const)("%j with %j → %j", ([cache, options, expected]) => {
    const { warnings } = mountArguments(wish({ cache, options }));
    expect(argsOf({ cache, options })).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  it.for([["max-cache-size=973"], ["max-cache-size 99999", "max-cache-size=5000"]])(
    "%j is reduced to what the volume holds, with a warning",
    (options) => {
      const { args, warnings } = mountArguments(wish({ cache: disk("1Gi"), options }));
      expect(args).toContain("--max-cache-size=972");
      expect(args.filter((arg) => arg.startsWith("--max-cache-size"))).toHaveLength(1);
      expect(warnings).toEqual([expect.stringContaining("reduced to 972")]);
    },
  );

  it.for([
    [["cache"], true],
    [["allow-delete", "  --cache=/x"], true],
    [["cache-xz=bucket", "prefix=cache/"], false],
    [[], false],
  ] as const)("options %j ask for one: %s", ([options, expected]) => {
    expect(asksForCache(options)).toBe(expected);
  });
});

describe("a volume that is a part of its bucket", () => {
  it.for([
    [[], ["--prefix=mine/"]],
    [["prefix=inner/"], ["--prefix=mine/inner/"]],
    [["prefix=a/", "prefix=b/"], ["--prefix=mine/a/"]],
  ] as const)("never leaves its own place: %j", ([options, args]) => {
    expect(argsOf({ prefix: "mine/", options })).toEqual(args);
  });
});
