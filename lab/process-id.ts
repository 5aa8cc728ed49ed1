/** A process that can be named safely later: pids are reused, a pid together with its start time is not. */
import { readdirSync, readFileSync } from "node:fs";
import { isErrno } from "../src/runtime/errno.ts";

export interface ProcessId {
  readonly pid: number;
  readonly startTime: string;
}

export function processId(pid: number): ProcessId | undefined {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

export function isAlive({ pid, startTime }: ProcessId): boolean {
  return startTimeOf(pid) === startTime;
}

/** Signals exactly this process, or nothing if it has ended. */
export function signalProcess(id: ProcessId, signal: NodeJS.Signals): void {
  if (!isAlive(id)) return;
  try {
    process.kill(id.pid, signal);
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
}

/** Resolves when the process has ended; rejects when the signal aborts first. */
export async function untilEnded(id: ProcessId, signal: AbortSignal): Promise<void> {
  while (isAlive(id)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function childrenOf(pid: number): readonly number[] {
  const text = readProc(`/proc/${pid}/task/${pid}/children`);
  return text === undefined ? [] : text.split(" ").filter(Boolean).map(Number);
}

export function parentOf(pid: number): ProcessId | undefined {
  const parent = fieldsOf(pid)?.[1];
  return parent === undefined ? undefined : processId(Number(parent));
}

/** All processes whose command line holds this text; for finding what an earlier run left. */
export function processesWith(text: string): readonly ProcessId[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && (readProc(`/proc/${pid}/cmdline`) ?? "").includes(text))
    .map(processId)
    .filter((id) => id !== undefined);
}

/** Of stat, from field 3 on: the name in field 2 may hold spaces and brackets, so they are counted from its last bracket. */
function fieldsOf(pid: number): readonly string[] | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ");
}

/**
 * Field 22 of stat. A zombie has ended, unless other threads (field 20) are still on their way out: until the last of them is gone, its
 * ports are in use.
 */
function startTimeOf(pid: number): string | undefined {
  const fields = fieldsOf(pid);
  if (fields === undefined) return undefined;
  const ended = fields[0] === "X" || (fields[0] === "Z" && Number(fields[17]) <= 1);
  return ended ? undefined : fields[19];
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}
