import { cacheContainerPath, comm } from "../core/names.ts";
import { integer, type Kind, text } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings } from "../runtime/settings/settings.ts";
import { longestTimerMs } from "../runtime/timer.ts";
import { parseDurationMs } from "./duration.ts";

export interface MounterConfig {
  /** The memory volume that is shared with the node plugin. */
  readonly commDir: string;
  /** Where the program `mount-s3` is. */
  readonly binDir: string;
  /** Mount point of the cache volume, in Mountpoint Pods that have one. */
  readonly cacheDir: string;
  readonly receiveTimeoutMs: number;
  /** A socket that listens already, from the program in which a Mountpoint Pod waits for a volume; undefined: the mounter makes its own. */
  readonly listeningDescriptor: number | undefined;
  /** The memory target of mount-s3 in MiB, in Pods with a memory limit; undefined: mount-s3 decides. */
  readonly memoryTarget: string | undefined;
}

/** In the form of Go durations, as in 2.x. */
const duration: Kind<number> = {
  expected: "a duration above 0 such as 2m or 1h30m",
  parse: (given) => {
    const ms = parseDurationMs(given) ?? 0;
    return ms > 0 ? Math.min(ms, longestTimerMs) : undefined;
  },
  refusesEmpty: true,
};

/** The flags of 2.x, one for Pods with a memory limit, one of Pods that have waited, and two directories that only tests change. */
const declared = {
  receiveTimeoutMs: { flag: "mount-sock-recv-timeout", kind: duration, default: 120_000 },
  binDir: {
    flag: "mountpoint-bin-dir",
    variable: "MOUNTPOINT_BIN_DIR",
    kind: text,
    default: "/mountpoint-s3/bin",
  },
  commDir: { flag: "comm-dir", kind: text, default: comm.containerPath },
  cacheDir: { flag: "cache-dir", kind: text, default: cacheContainerPath },
  memoryTarget: { flag: "memory-target", kind: text },
  listeningDescriptor: { flag: "listening-descriptor", kind: integer({ min: 3, max: 2 ** 20 }) },
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function mounterConfigFrom(args: readonly string[], env: Environment): MounterConfig {
  return Object.freeze(readSettings(declared, { args, env }));
}
