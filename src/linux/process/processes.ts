/** Processes of a container, in a /proc that shows them. Nothing here is asked of a process itself, so none can block us. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { unlessErrno } from "../../runtime/errno.ts";

export interface ContainerProgram {
  readonly podUid: string;
  readonly program: string;
}

/**
 * How much processor time a program has used in a Pod; undefined if no such process is there to be seen, or if the kernel
 * does not tell of one of its threads. Whoever concludes from an equal figure that nothing was done needs all of them.
 */
export function cpuTimeNs(proc: string, { podUid, program }: ContainerProgram): number | undefined {
  const threads = namesIn(proc).flatMap((pid) => {
    const directory = join(proc, pid);
    const isIt = readOrEmpty(join(directory, "comm")).trim() === program;
    return isIt && isOfPod(readOrEmpty(join(directory, "cgroup")), podUid) ? threadsIn(join(directory, "task")) : [];
  });
  const total = threads.reduce((sum, ns) => sum + ns, 0);
  // A kernel without these figures shows zeros; a program that runs has used some time. NaN: of one thread it is not known.
  return total > 0 ? total : undefined;
}

/** The first figure of schedstat: time on a processor, exact, where utime and stime have ticks of 10 ms. NaN if unknown. */
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

/** UIDs of the Pods that have any process, their sandboxes included; undefined if no process is there to be seen. */
export function podsWithProcesses(proc: string): ReadonlySet<string> | undefined {
  const pids = namesIn(proc);
  return pids.length === 0 ? undefined : new Set(pids.flatMap((pid) => podUidOf(proc, Number(pid)) ?? []));
}

/** The Pod that a process belongs to; undefined for one of the host, and one that has ended. */
export function podUidOf(proc: string, pid: number): string | undefined {
  const cgroups = readOrEmpty(join(proc, String(pid), "cgroup"));
  const [, uid] = /pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})/.exec(cgroups) ?? [];
  return uid?.replaceAll("_", "-");
}

/**
 * When a process began, in ticks since the machine did: together with its number this names one process for ever. undefined
 * if it has ended.
 */
export function startOf(proc: string, pid: number): string | undefined {
  // The name of the program comes second, in parentheses, and may hold anything; the start is the 22nd field.
  const [, rest] = /^.*\) (.*)$/s.exec(readOrEmpty(join(proc, String(pid), "stat"))) ?? [];
  return rest?.split(" ")[19];
}

/** None where it is not mounted: manifests of 2.x show us no processes. */
function namesIn(directory: string): readonly string[] {
  return orElse([], () => readdirSync(directory).filter((name) => /^\d+$/.test(name)));
}

function readOrEmpty(file: string): string {
  return orElse("", () => readFileSync(file, "utf8"));
}

/** It may have ended between the listing and the look. */
function orElse<Answer>(otherwise: Answer, read: () => Answer): Answer {
  return unlessErrno(["ENOENT", "ESRCH"], read) ?? otherwise;
}
