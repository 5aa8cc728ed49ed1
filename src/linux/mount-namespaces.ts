/**
 * The mount namespaces of a machine, through its /proc. Every running container has a process in its own, so nobody has
 * to be asked which containers there are.
 */
import { constants, openSync, readdirSync, readlinkSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call } from "../runtime/call.ts";
import { isErrno } from "../runtime/errno.ts";
import { Descriptor } from "./descriptor.ts";
import type { Inside } from "./mount-tree.ts";

/** Not in fs.constants. */
const O_PATH = 0o10000000;

export interface MountNamespace {
  /** As the kernel names it, such as `mnt:[4026531841]`. */
  readonly id: string;
  /** The processes in it, as the machine's /proc numbers them, in ascending order. */
  readonly pids: readonly [number, ...number[]];
}

/** A container may have tens of thousands of processes: other work gets its turn in between. */
const pidsPerTurn = 256;

/** Each once, in the order of their first processes. */
export async function mountNamespaces(call: Call, proc: string): Promise<readonly MountNamespace[]> {
  const found = new Map<string, [number, ...number[]]>();
  const names = readdirSync(proc).filter((name) => /^\d+$/.test(name));
  const pids = names.map(Number).toSorted((a, b) => a - b);
  for (const [index, pid] of pids.entries()) {
    if (index % pidsPerTurn === pidsPerTurn - 1) await nextTurn();
    call.signal.throwIfAborted();
    const id = unlessGone(() => readlinkSync(`${proc}/${pid}/ns/mnt`));
    if (id === undefined) continue;
    const known = found.get(id);
    if (known === undefined) found.set(id, [pid]);
    else known.push(pid);
  }
  return [...found].map(([id, [first, ...others]]) => ({ id, pids: [first, ...others] }));
}

export function ownMountNamespace(): string {
  return readlinkSync("/proc/self/ns/mnt");
}

/** undefined: its processes have ended. */
export async function openInside(proc: string, namespace: MountNamespace): Promise<(Inside & Disposable) | undefined> {
  for (const pid of namespace.pids) {
    const inside = openAt(proc, pid, namespace.id);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function openAt(proc: string, pid: number, id: string): (Inside & Disposable) | undefined {
  using undo = new DisposableStack();
  const opened = unlessGone(() => ({
    namespace: undo.use(new Descriptor(openSync(`${proc}/${pid}/ns/mnt`, "r"))),
    root: undo.use(new Descriptor(openSync(`${proc}/${pid}/root`, O_PATH | constants.O_DIRECTORY))),
    table: undo.use(new Descriptor(openSync(`${proc}/${pid}/mountinfo`, "r"))),
  }));
  // The number may belong to another process by now.
  if (opened === undefined || readlinkSync(`/proc/self/fd/${opened.namespace.fd}`) !== id) return undefined;
  const kept = undo.move();
  return { ...opened, [Symbol.dispose]: () => kept[Symbol.dispose]() };
}

/** ENOENT and ESRCH: the process went. EACCES, and EINVAL from its mount table: it is going, and has no namespaces any more. */
function unlessGone<Answer>(ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EACCES", "EINVAL")) return undefined;
    throw error;
  }
}
