import { parseArgs } from "node:util";
import { cacheContainerPath, comm } from "../core/names.ts";
import { parseDurationMs } from "./duration.ts";

export interface MounterConfig {
  /** The memory volume that is shared with the node plugin. */
  readonly commDir: string;
  /** Where the program `mount-s3` is. */
  readonly binDir: string;
  /** Mount point of the cache volume, in Mountpoint Pods that have one. */
  readonly cacheDir: string;
  readonly receiveTimeoutMs: number;
  /** Of mount-s3, in MiB, where the Pod has a memory limit; undefined: mount-s3 decides. */
  readonly memoryTarget: string | undefined;
}

/** The flags of 2.x, one for Pods with a memory limit, and two places that only tests change. Reports every problem at once. */
export function mounterConfigFrom(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): MounterConfig {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "mount-sock-recv-timeout": { type: "string", default: "2m" },
      "mountpoint-bin-dir": { type: "string", default: env["MOUNTPOINT_BIN_DIR"] ?? "/mountpoint-s3/bin" },
      "comm-dir": { type: "string", default: comm.containerPath },
      "cache-dir": { type: "string", default: cacheContainerPath },
      "memory-target": { type: "string" },
    },
  });
  const receiveTimeoutMs = parseDurationMs(values["mount-sock-recv-timeout"]) ?? 0;
  if (receiveTimeoutMs <= 0) {
    throw new Error(`--mount-sock-recv-timeout is not a duration such as 2m: ${values["mount-sock-recv-timeout"]}`);
  }
  return Object.freeze({
    commDir: values["comm-dir"],
    binDir: values["mountpoint-bin-dir"],
    cacheDir: values["cache-dir"],
    memoryTarget: values["memory-target"],
    receiveTimeoutMs: Math.min(receiveTimeoutMs, longestTimerMs),
  });
}

/** Timers of Node fire at once when they are told more. */
const longestTimerMs = 2 ** 31 - 1;
