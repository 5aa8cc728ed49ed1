/** Which mount options may change for a running mount, and with which values. Pure. */
import { mebibyte } from "../volume/quantity.ts";

/** Whether an option may be given with this value (undefined: as a flag); else what is expected. */
type Check = (value: string | undefined) => Expected | undefined;
type Expected = string;

/**
 * None of these changes what a path leads to, who may do what, which store is used, or how an object is written. mount-s3 starts with every
 * value that is allowed here: a value that it refuses would keep new workloads from starting.
 */
export const liveOptions: Readonly<Record<string, Check>> = {
  "--metadata-ttl": timeToLive,
  "--negative-metadata-ttl": timeToLive,
  "--maximum-throughput-gbps": integer(1, 1000),
  "--max-threads": integer(1, 256),
  // The AWS CRT repeats a request 63 times at most, and mount-s3 panics at the start if it is to do so more often.
  "--aws-max-attempts": integer(1, 64),
  // mount-s3 refuses less than its minimum.
  "--memory-target": integer(512, 1024 * 1024),
  // With the largest, a mount-s3 with the smallest memory target still starts, and can read and write.
  "--part-size": integer(5 * mebibyte, 128 * mebibyte),
  "--read-part-size": integer(5 * mebibyte, 128 * mebibyte),
  "--write-part-size": integer(5 * mebibyte, 128 * mebibyte),
  "--max-cache-size": integer(0, 1024 ** 3),
  "--debug": flag,
  "--debug-crt": flag,
  "--log-metrics": flag,
  "--no-log": flag,
};

function flag(value: string | undefined): Expected | undefined {
  return value === undefined ? undefined : "write it without a value";
}

/** mount-s3 limits it to a hundred years. */
function timeToLive(value: string | undefined): Expected | undefined {
  if (value === "minimal" || value === "indefinite") return undefined;
  const most = 100 * 365 * 24 * 60 * 60;
  return integer(0, most)(value) && `write seconds from 0 to ${most}, "minimal" or "indefinite"`;
}

function integer(least: number, most: number): Check {
  return (value = "") =>
    /^\d{1,15}$/.test(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `write an integer from ${least} to ${most}`;
}

/** Why other options may not change for a running mount. */
const reasons: readonly (readonly [because: string, options: readonly string[]])[] = [
  ["decides what a path leads to", ["--prefix"]],
  [
    "decides which object store is used, and how it is reached",
    [
      ...["--region", "--endpoint-url", "--bucket-type", "--force-path-style", "--dual-stack"],
      ...["--transfer-acceleration", "--bind", "--ca-bundle"],
    ],
  ],
  [
    "decides for whom requests are made",
    ["--profile", "--no-sign-request", "--requester-pays", "--expected-bucket-owner"],
  ],
  [
    "decides who may do what",
    [
      ...["--read-only", "--allow-delete", "--allow-overwrite", "--allow-other", "--allow-root"],
      ...["--uid", "--gid", "--dir-mode", "--file-mode"],
    ],
  ],
  [
    "decides how objects are written, and a move tries only that they can be listed",
    [
      ...["--sse", "--sse-kms-key-id", "--upload-checksums", "--storage-class", "--infer-content-type"],
      "--incremental-upload",
    ],
  ],
  [
    "is chosen by the driver",
    [
      "--user-agent-prefix",
      "--otlp-endpoint",
      "--otlp-export-interval",
      "--cache-xz",
      "--foreground",
      "--auto-unmount",
    ],
  ],
  ["would take the log away from kubectl logs", ["--log-directory"]],
  ["has an annotation of its own for each attribute of a cache", ["--cache"]],
];

const refusals: ReadonlyMap<string, string> = new Map(
  reasons.flatMap(([because, options]) => options.map((option) => [option, because] as const)),
);

/** Why this option may not change for a running mount. Says so of options that mount-s3 does not have, too. */
export function refusalOf(option: string): string {
  return refusals.get(option) ?? "is not known to be one that can";
}

/** mount-s3 refuses these together: a live option takes the place of all of them. */
const displaced: Readonly<Record<string, readonly string[]>> = {
  "--no-log": ["--debug", "--debug-crt", "--log-metrics", "--log-directory"],
  "--debug": ["--no-log"],
  "--debug-crt": ["--no-log"],
  "--log-metrics": ["--no-log"],
  "--part-size": ["--read-part-size", "--write-part-size"],
  "--read-part-size": ["--part-size"],
  "--write-part-size": ["--part-size"],
};

export function excludedBy(option: string): readonly string[] {
  return displaced[option] ?? [];
}
