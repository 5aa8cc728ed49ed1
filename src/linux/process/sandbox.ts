/**
 * Runtimes whose containers have a kernel of their own, and see a volume through a process of the runtime. That process
 * keeps the file system open that it got at the start: a mount that is replaced under it changes nothing for the container.
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

/** More than these processes have in a mount namespace; a container may have tens of thousands of its own. */
const mostProcesses = 4;

/** Which of them one of these processes belongs to; undefined: none. */
export function sandboxOf(proc: string, pids: readonly number[]): string | undefined {
  const programs = pids.slice(0, mostProcesses).map((pid) => programOf(proc, pid));
  return programs.flatMap((program) => sandboxes[program] ?? [])[0];
}

/** The name by which it was started; empty if it has ended. */
function programOf(proc: string, pid: number): string {
  const line = unlessErrno(["ENOENT", "ESRCH"], () => readFileSync(`${proc}/${pid}/cmdline`, "utf8")) ?? "";
  const [path = ""] = line.split("\0", 1);
  return basename(path);
}
