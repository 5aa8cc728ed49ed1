/**
 * The mount namespaces of a machine, found through its /proc. Every running container has a process in its own mount namespace, so
 * the container runtime does not have to be asked for its containers.
 */
import { openSync, readdirSync, readlinkSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call } from "../../runtime/call.ts";
import { Descriptor } from "../descriptor.ts";
import { unlessGone } from "../unless-gone.ts";
import { type Inside, rootOf, tableOf } from "./mount-tree.ts";

export interface MountNamespace {
  /** The kernel's name of the namespace, such as `mnt:[4026531841]`. The kernel reuses it after the namespace has ended. */
  readonly id: string;
  /** The processes in the namespace, by their pids in the given /proc, in ascending order. */
  readonly pids: readonly [number, ...number[]];
}

/** A container may have tens of thousands of processes: the loop yields to other work after this many. */
const pidsPerTurn = 256;

/** Lists all mount namespaces, in the order of their lowest pid. */
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

export type View = Pick<Inside, "namespace" | "table"> & Disposable;

/**
 * Opens the complete mount table of a namespace, even if its processes use chroot. undefined if all its processes have ended.
 * Rejects if the kernel does not allow entering the namespace. The caller must dispose of the result.
 */
export async function openTable(proc: string, namespace: MountNamespace): Promise<View | undefined> {
  using undo = new DisposableStack();
  const opened = openNamespace(proc, namespace);
  if (opened === undefined) return undefined;
  undo.use(opened);
  const table = undo.use(await tableOf(opened));
  const kept = undo.move();
  return { namespace: opened, table, [Symbol.dispose]: () => kept[Symbol.dispose]() };
}

/** Like openTable, and opens the root directory of the namespace, too. */
export async function openInside(proc: string, namespace: MountNamespace): Promise<(Inside & Disposable) | undefined> {
  using undo = new DisposableStack();
  const view = await openTable(proc, namespace);
  if (view === undefined) return undefined;
  undo.use(view);
  const root = undo.use(await rootOf(view.namespace));
  const kept = undo.move();
  return { namespace: view.namespace, table: view.table, root, [Symbol.dispose]: () => kept[Symbol.dispose]() };
}

/** Opens the namespace through any of its processes. A pid may belong to another process by now, so the name is compared. */
function openNamespace(proc: string, { id, pids }: MountNamespace): Descriptor | undefined {
  for (const pid of pids) {
    using undo = new DisposableStack();
    const opened = unlessGone(() => undo.use(new Descriptor(openSync(`${proc}/${pid}/ns/mnt`, "r"))));
    if (opened === undefined || readlinkSync(`/proc/self/fd/${opened.fd}`) !== id) continue;
    undo.move();
    return opened;
  }
  return undefined;
}
