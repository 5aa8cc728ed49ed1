/** Keeps a dead device from ending, so that its number cannot be given to another one. */
import { orAborted } from "../../kube/or-aborted.ts";
import { type MountNamespace, mountNamespaces, openInside, ownMountNamespace } from "../../linux/mount-namespaces.ts";
import { holdMount } from "../../linux/mount-tree.ts";
import { parseMountsOfFuse } from "../../linux/mountinfo.ts";
import { askServer } from "../../linux/probe.ts";
import { readTable } from "../../linux/read-table.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { tableLimits } from "./heal-limits.ts";
import { isOfDead } from "./plan-swaps.ts";

/** For one container: a path may lead through another mount that hangs. */
const holdLimitMs = 5000;

interface Machine {
  /** Where the host's /proc is mounted. */
  readonly proc: string;
  readonly podOf: (proc: string, pid: number) => string | undefined;
}

/** Through a container that still has it; undefined if none has, or it lives. */
export async function holdDead(call: Call, { proc, podOf }: Machine, minor: number): Promise<Disposable | undefined> {
  const own = ownMountNamespace();
  const hanging = new Set<string>();
  for (const namespace of await mountNamespaces(call, proc)) {
    const owner = podOf(proc, namespace.pids[0]) ?? "";
    if (namespace.id === own || hanging.has(owner)) continue;
    using limited = deadline(call, holdLimitMs, "a dead mount in a container");
    const held = await orAborted(limited, heldIn(limited, proc, namespace, minor)).catch(() => undefined);
    call.signal.throwIfAborted();
    // A Pod may have many namespaces with paths that hang, and the others wait.
    if (limited.signal.aborted) hanging.add(owner);
    if (held !== undefined) return held;
  }
  return undefined;
}

async function heldIn(
  call: Call,
  proc: string,
  namespace: MountNamespace,
  minor: number,
): Promise<Disposable | undefined> {
  using inside = await openInside(proc, namespace);
  const text = inside && (await readTable(call, inside.table, tableLimits));
  if (inside === undefined || text === undefined) return undefined;
  const mount = parseMountsOfFuse(text, minor).find((one) => isOfDead(one, minor));
  if (mount === undefined) return undefined;
  using undo = new DisposableStack();
  const held = undo.use(await holdMount(inside.root, mount.mountPoint));
  if (held.id !== mount.id || (await askServer(held.root)) !== "dead") return undefined;
  call.signal.throwIfAborted();
  const kept = undo.move();
  return { [Symbol.dispose]: () => kept[Symbol.dispose]() };
}
