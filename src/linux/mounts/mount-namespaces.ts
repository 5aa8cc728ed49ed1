/**
 * The mount namespaces of a machine, through its /proc. Every running container has a process in its own, so nobody has
 * to be asked which containers there are.
 */
import { openSync, readdirSync, readlinkSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call } from "../../runtime/call.ts";
import { Descriptor } from "../descriptor.ts";
import { unlessGone } from "../unless-gone.ts";
import { type Inside, rootOf, tableOf } from "./mount-tree.ts";

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

export type View = Pick<Inside, "namespace" | "table"> & Disposable;

/**
 * Its mount table, whatever its processes see of it; undefined: they have ended. Rejects where the kernel does not let us
 * enter.
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

/** The same with its root directory. */
export async function openInside(proc: string, namespace: MountNamespace): Promise<(Inside & Disposable) | undefined> {
  using undo = new DisposableStack();
  const view = await openTable(proc, namespace);
  if (view === undefined) return undefined;
  undo.use(view);
  const root = undo.use(await rootOf(view.namespace));
  const kept = undo.move();
  return { namespace: view.namespace, table: view.table, root, [Symbol.dispose]: () => kept[Symbol.dispose]() };
}

/** Through any of its processes. The number of one that has ended may belong to another process by now. */
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
