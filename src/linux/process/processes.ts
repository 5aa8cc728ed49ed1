/** Processes of containers, read from the host's /proc. None of these reads depends on the process, so none can block. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { setImmediate as nextTurn } from "node:timers/promises";
import { unlessErrno } from "../../runtime/errno.ts";

export interface ContainerProgram {
  readonly podUid: string;
  readonly program: string;
}

/**
 * The CPU time of all threads of a program in a Pod; undefined if the process is not visible, or if the time of one thread is
 * unknown. Guarantees completeness, because callers conclude from an equal value that the program did nothing.
 */
export function cpuTimeNs(proc: string, { podUid, program }: ContainerProgram): number | undefined {
  const threads = namesIn(proc).flatMap((pid) => {
    const directory = join(proc, pid);
    const isProgram = readOrEmpty(join(directory, "comm")).trim() === program;
    return isProgram && isOfPod(readOrEmpty(join(directory, "cgroup")), podUid)
      ? threadsIn(join(directory, "task"))
      : [];
  });
  const total = threads.reduce((sum, ns) => sum + ns, 0);
  // A kernel without schedstats shows zeros, but a running program has used some time. NaN: the time of one thread is unknown.
  return total > 0 ? total : undefined;
}

/** The first field of schedstat is the exact CPU time in ns; utime and stime have ticks of 10 ms. NaN if unknown. */
function threadsIn(task: string): readonly number[] {
  return namesIn(task).map((thread) => {
    const [ns = ""] = readOrEmpty(join(task, thread, "schedstat")).split(" ");
    return /^\d+$/.test(ns) ? Number(ns) : Number.NaN;
  });
}

/** kubelet names the cgroup of a Pod after its UID; with systemd as the driver, dashes become underscores. */
function isOfPod(cgroups: string, podUid: string): boolean {
  return cgroups.includes(`pod${podUid}`) || cgroups.includes(`pod${podUid.replaceAll("-", "_")}`);
}

/** UIDs of Pods with a process, sandbox containers included; undefined if no process is visible. */
export function podsWithProcesses(proc: string): ReadonlySet<string> | undefined {
  const pids = namesIn(proc);
  return pids.length === 0 ? undefined : new Set(pids.flatMap((pid) => podUidOf(proc, Number(pid)) ?? []));
}

/** So many processes are looked at in one turn of the event loop: a workload may have tens of thousands (SE-9). */
const processesAtOnce = 200;

/** The visible processes of these Pods, those of sandboxes included, by the UID of the Pod. */
export async function processesOfPods(
  proc: string,
  podUids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  for (const [index, pid] of namesIn(proc).map(Number).entries()) {
    if (index % processesAtOnce === 0) await nextTurn();
    const uid = podUidOf(proc, pid);
    if (uid !== undefined && podUids.has(uid)) found.set(uid, [...(found.get(uid) ?? []), pid]);
  }
  return found;
}

/** UID of the Pod of a process; undefined for a process of the host and for one that has ended. */
export function podUidOf(proc: string, pid: number): string | undefined {
  const cgroups = readOrEmpty(join(proc, String(pid), "cgroup"));
  const [, uid] = /pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})/.exec(cgroups) ?? [];
  return uid?.replaceAll("_", "-");
}

/**
 * The start time of a process, in ticks since boot; undefined if the process has ended. The kernel reuses pids, but pid and start
 * time together identify one process.
 */
export function startOf(proc: string, pid: number): string | undefined {
  // The second field is the program name in parentheses, which may contain any character; the start time is the 22nd field.
  const [, rest] = /^.*\) (.*)$/s.exec(readOrEmpty(join(proc, String(pid), "stat"))) ?? [];
  return rest?.split(" ")[19];
}

/** Numeric entries; empty if the directory does not exist. */
function namesIn(directory: string): readonly string[] {
  return orElse([], () => readdirSync(directory).filter((name) => /^\d+$/.test(name)));
}

function readOrEmpty(file: string): string {
  return orElse("", () => readFileSync(file, "utf8"));
}

/** The process may have ended between readdir and the read. */
function orElse<Answer>(otherwise: Answer, read: () => Answer): Answer {
  return unlessErrno(["ENOENT", "ESRCH"], read) ?? otherwise;
}
