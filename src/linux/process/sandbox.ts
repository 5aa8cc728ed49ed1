/**
 * Container runtimes with a kernel of their own (gVisor, Kata Containers), whose containers access a volume through a process of
 * the runtime. That process keeps the file system open from its start: replacing the mount has no effect in the container.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path/posix";
import { unlessErrno } from "../../runtime/errno.ts";

const sandboxes: Readonly<Record<string, string>> = {
  runsc: "gVisor",
  "runsc-gofer": "gVisor",
  "runsc-sandbox": "gVisor",
  virtiofsd: "Kata Containers",
};

/** Runtime processes are among the first in their mount namespace; a container may have tens of thousands of processes. */
const mostProcesses = 4;

/** The name of the sandbox runtime to which one of these processes belongs; undefined if there is none. */
export function sandboxOf(proc: string, pids: readonly number[]): string | undefined {
  const programs = pids.slice(0, mostProcesses).map((pid) => programOf(proc, pid));
  return programs.flatMap((program) => sandboxes[program] ?? [])[0];
}

/** The name of the executable; empty if the process has ended. */
function programOf(proc: string, pid: number): string {
  const line = unlessErrno(["ENOENT", "ESRCH"], () => readFileSync(`${proc}/${pid}/cmdline`, "utf8")) ?? "";
  const [path = ""] = line.split("\0", 1);
  return basename(path);
}
