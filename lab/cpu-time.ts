/** CPU time from the kernel's own accounts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isErrno } from "../src/runtime/errno.ts";

/** USER_HZ, the unit of /proc/PID/stat: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

interface ProcessTime {
  readonly parent: number;
  readonly seconds: number;
}

/** CPU time of a process with its ended children: utime, stime, cutime and cstime, fields 14 to 17 of stat. */
export function cpuSecondsOf(pid: number): number {
  return processTime(pid)?.seconds ?? 0;
}

/** CPU time of a process and of all its descendants. Those that ended count once their parent has waited for them. */
export function cpuSecondsBelow(root: number): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const times = new Map<number, ProcessTime>();
  for (const pid of pids.map(Number)) {
    const time = processTime(pid);
    if (time !== undefined) times.set(pid, time);
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === root || isBelow(times.get(pid)?.parent));
  return [...times].filter(([pid]) => isBelow(pid)).reduce((total, [, { seconds }]) => total + seconds, 0);
}

/** CPU time of all cgroups whose names begin like this, from version 1 accounting; 0 where there is none. */
export function cpuSecondsOfCgroups(prefix: string): number {
  const root = "/sys/fs/cgroup/cpuacct";
  const names = (ifThere(() => readdirSync(root)) ?? []).filter((name) => name.startsWith(prefix));
  const usages = names.map((name) => ifThere(() => Number(readFileSync(join(root, name, "cpuacct.usage"), "utf8"))));
  return usages.reduce<number>((total, nanoseconds) => total + (nanoseconds ?? 0), 0) / 1e9;
}

function processTime(pid: number): ProcessTime | undefined {
  const text = ifThere(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (text === undefined) return undefined;
  // The name in field 2 may hold spaces and brackets, so count from its last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
  return { parent: Number(fields[1]), seconds: ticks / ticksPerSecond };
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "ENODEV")) return undefined;
    throw error;
  }
}
