/** Keeps a dead FUSE file system alive, so that the kernel does not reuse its minor number. */

import type { PodUid } from "../../core/names.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import { askServer } from "../../linux/fuse/probe.ts";
import {
  type MountNamespace,
  mountNamespaces,
  openInside,
  ownMountNamespace,
} from "../../linux/mounts/mount-namespaces.ts";
import { holdMount } from "../../linux/mounts/mount-tree.ts";
import { parseMountsOfDevice } from "../../linux/mounts/mountinfo.ts";
import { readTable } from "../../linux/mounts/read-table.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { wrongMount } from "./inside-threads.ts";
import { isOfDead } from "./plan-swaps.ts";
import { tableLimits, tableTooLarge } from "./swap-limits.ts";

/** Limit for one container: the path may lead through another, hung mount. */
const holdLimitMs = 5000;

interface Machine {
  /** Mount point of the host's /proc. */
  readonly proc: string;
  readonly podOf: (proc: string, pid: number) => string | undefined;
}

export interface Holding {
  /** Holds the device through a container that has it; undefined if no container is known to have it, or if its server lives. */
  readonly pin: Disposable | undefined;
  /** Without a pin: containers that may have the device, because they could not be inspected. */
  readonly unseen: readonly Unseen[];
}

interface Unseen {
  readonly workload: PodUid;
  readonly because: string;
}

export async function holdDead(call: Call, { proc, podOf }: Machine, deviceId: DeviceId): Promise<Holding> {
  const own = ownMountNamespace();
  const unseen: Unseen[] = [];
  const hanging = new Set<string | undefined>();
  for (const namespace of await mountNamespaces(call, proc)) {
    const owner = podOf(proc, namespace.pids[0]) as PodUid | undefined;
    if (namespace.id === own || hanging.has(owner)) continue;
    using limited = deadline(call, holdLimitMs, "the path of the dead mount in the container");
    const held = await orAborted(limited, heldIn(limited, proc, namespace, deviceId)).catch(describeError);
    call.signal.throwIfAborted();
    // A Pod may have many namespaces with hung paths, and other Pods wait: the rest of its namespaces is skipped.
    if (limited.signal.aborted) hanging.add(owner);
    // No workload waits for a mount namespace of the host.
    if (typeof held === "string" && owner !== undefined) unseen.push({ workload: owner, because: held });
    if (typeof held === "object") return { pin: held, unseen: [] };
  }
  return { pin: undefined, unseen };
}

/** undefined: the namespace does not have the device, or its server lives. Rejects if that is unknown. */
async function heldIn(
  call: Call,
  proc: string,
  namespace: MountNamespace,
  deviceId: DeviceId,
): Promise<Disposable | undefined> {
  using inside = await openInside(proc, namespace);
  if (inside === undefined) return undefined;
  const text = await readTable(call, inside.table, tableLimits);
  if (text === undefined) throw new Error(tableTooLarge);
  const mount = parseMountsOfDevice(text, deviceId).find((one) => isOfDead(one, deviceId));
  if (mount === undefined) return undefined;
  using undo = new DisposableStack();
  const held = undo.use(await holdMount(inside.root, mount.mountPoint));
  if (held.id !== mount.id) throw wrongMount();
  if ((await askServer(held.root)) !== "dead") return undefined;
  call.signal.throwIfAborted();
  const kept = undo.move();
  return { [Symbol.dispose]: () => kept[Symbol.dispose]() };
}
