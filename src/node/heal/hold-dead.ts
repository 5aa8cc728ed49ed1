/** Keeps a dead device from ending, so that its number cannot be given to another one. */
import type { PodUid } from "../../core/names.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { askServer } from "../../linux/fuse/probe.ts";
import {
  type MountNamespace,
  mountNamespaces,
  openInside,
  ownMountNamespace,
} from "../../linux/mounts/mount-namespaces.ts";
import { holdMount } from "../../linux/mounts/mount-tree.ts";
import { parseMountsOfFuse } from "../../linux/mounts/mountinfo.ts";
import { readTable } from "../../linux/mounts/read-table.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { tableLimits, tableTooLarge } from "./heal-limits.ts";
import { wrongMount } from "./inside-threads.ts";
import { isOfDead } from "./plan-swaps.ts";

/** For one container: a path may lead through another mount that hangs. */
const holdLimitMs = 5000;

interface Machine {
  /** Where the host's /proc is mounted. */
  readonly proc: string;
  readonly podOf: (proc: string, pid: number) => string | undefined;
}

export interface Holding {
  /** Through a container that still has the device; undefined if none is known to have it, or it lives. */
  readonly pin: Disposable | undefined;
  /** Without a pin: containers that may have it, because they could not be looked through. */
  readonly unseen: readonly Unseen[];
}

interface Unseen {
  readonly workload: PodUid;
  readonly because: string;
}

export async function holdDead(call: Call, { proc, podOf }: Machine, minor: number): Promise<Holding> {
  const own = ownMountNamespace();
  const unseen: Unseen[] = [];
  const hanging = new Set<string | undefined>();
  for (const namespace of await mountNamespaces(call, proc)) {
    const owner = podOf(proc, namespace.pids[0]) as PodUid | undefined;
    if (namespace.id === own || hanging.has(owner)) continue;
    using limited = deadline(call, holdLimitMs, "the path of the dead mount in the container");
    const held = await orAborted(limited, heldIn(limited, proc, namespace, minor)).catch(describeError);
    call.signal.throwIfAborted();
    // A Pod may have many namespaces with paths that hang, and the others wait.
    if (limited.signal.aborted) hanging.add(owner);
    // A namespace of the host has no users who wait for it.
    if (typeof held === "string" && owner !== undefined) unseen.push({ workload: owner, because: held });
    if (typeof held === "object") return { pin: held, unseen: [] };
  }
  return { pin: undefined, unseen };
}

/** undefined: the namespace does not have the device, or it lives. Rejects where that cannot be told. */
async function heldIn(
  call: Call,
  proc: string,
  namespace: MountNamespace,
  minor: number,
): Promise<Disposable | undefined> {
  using inside = await openInside(proc, namespace);
  if (inside === undefined) return undefined;
  const text = await readTable(call, inside.table, tableLimits);
  if (text === undefined) throw new Error(tableTooLarge);
  const mount = parseMountsOfFuse(text, minor).find((one) => isOfDead(one, minor));
  if (mount === undefined) return undefined;
  using undo = new DisposableStack();
  const held = undo.use(await holdMount(inside.root, mount.mountPoint));
  if (held.id !== mount.id) throw wrongMount();
  if ((await askServer(held.root)) !== "dead") return undefined;
  call.signal.throwIfAborted();
  const kept = undo.move();
  return { [Symbol.dispose]: () => kept[Symbol.dispose]() };
}
