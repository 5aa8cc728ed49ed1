/**
 * The mount namespaces of a machine, through its /proc. Every running container has a process in its own, so nobody has
 * to be asked which containers there are.
 */
import { constants, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { isErrno } from "../runtime/errno.ts";
import { Descriptor } from "./descriptor.ts";
import type { Inside } from "./mount-tree.ts";
import { parseMountinfo, type WholeMount } from "./mountinfo.ts";

/** Not in fs.constants. */
const O_PATH = 0o10000000;

export interface MountNamespace {
  /** As the kernel names it, such as `mnt:[4026531841]`. */
  readonly id: string;
  /** A process in it, as the machine's /proc numbers it. */
  readonly pid: number;
}

/** Each once, with its oldest process: that is the container's first, and sees all mounts. */
export function mountNamespaces(proc: string): readonly MountNamespace[] {
  const found = new Map<string, MountNamespace>();
  const pids = readdirSync(proc).filter((name) => /^\d+$/.test(name));
  for (const pid of pids.map(Number).toSorted((a, b) => a - b)) {
    const id = unlessGone(() => readlinkSync(`${proc}/${pid}/ns/mnt`));
    if (id !== undefined && !found.has(id)) found.set(id, { id, pid });
  }
  return [...found.values()];
}

export function ownMountNamespace(): string {
  return readlinkSync("/proc/self/ns/mnt");
}

/** Its mounts, if one of them is of this FUSE file system; none if it is gone. Reading the table asks no file system. */
export function mountsIn(proc: string, { pid }: MountNamespace, minor: number): readonly WholeMount[] {
  const text = unlessGone(() => readFileSync(`${proc}/${pid}/mountinfo`, "utf8")) ?? "";
  return text.includes(` 0:${minor} `) ? parseMountinfo(text) : [];
}

/** undefined: its process has ended. */
export function openInside(proc: string, { pid, id }: MountNamespace): (Inside & Disposable) | undefined {
  using undo = new DisposableStack();
  const opened = unlessGone(() => ({
    namespace: undo.use(new Descriptor(openSync(`${proc}/${pid}/ns/mnt`, "r"))),
    root: undo.use(new Descriptor(openSync(`${proc}/${pid}/root`, O_PATH | constants.O_DIRECTORY))),
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
