/** Replaces mounts by others of the same data, dead ones by living ones above all, in all running containers and in the directories that kubelet gives to new ones. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { type Descriptor, openPath } from "../../linux/descriptor.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import {
  type MountNamespace,
  mountNamespaces,
  openInside,
  openTable,
  ownMountNamespace,
} from "../../linux/mounts/mount-namespaces.ts";
import {
  cloneTree,
  copyAttributes,
  type HeldMount,
  holdMount,
  type Inside,
  isDirectory,
  mountIdOf,
  replaceHere,
} from "../../linux/mounts/mount-tree.ts";
import { parseMountsOfDevice, readMounts } from "../../linux/mounts/mountinfo.ts";
import { readTable } from "../../linux/mounts/read-table.ts";
import { podUidOf, startOf } from "../../linux/process/processes.ts";
import { sandboxOf } from "../../linux/process/sandbox.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { isOurs, workloadAt } from "../mounts/mount-table.ts";
import { carryOut, type SwapFailure, type Swapped } from "./carry-out.ts";
import { type Holding, holdDead } from "./hold-dead.ts";
import { InsideThreads, wrongMount } from "./inside-threads.ts";
import { LostMounts } from "./lost-mounts.ts";
import { mayHold } from "./may-hold.ts";
import { openUnlessAborted } from "./open-unless-aborted.ts";
import { countMounts, type Swap, type Swaps, swapsHere, swapsInside } from "./plan-swaps.ts";
import { openSubPath } from "./sub-path.ts";
import { PodAllowance, tableLimits, tableTooLarge } from "./swap-limits.ts";

export interface Swapper {
  /** Replaces every mount of a device, or those of a scope, by a mount of the file system at `source`. */
  swap(call: Call, deviceId: DeviceId, source: string, scope?: SwapScope): Promise<Swapped>;
  /** Keeps a dead file system of the driver alive, through a container that still has it. */
  holdDead(call: Call, deviceId: DeviceId): Promise<Holding>;
}

/**
 * Of a device that serves: only the mounts of these workloads are replaced. A workload with a container whose mount stays keeps kubelet's
 * mounts, too, so that it has one mount and not two, and the mount table shows that it is to be replaced.
 */
export interface SwapScope {
  readonly workloads: ReadonlySet<PodUid>;
}

interface Work {
  readonly deviceId: DeviceId;
  readonly scope: SwapScope | undefined;
  /** Only finds out what would be refused. */
  readonly isTrial?: true;
  /** The root of the living mount. */
  readonly served: Descriptor;
}

/** A container that starts during a round may still get the dead mount; after the replacement in our own namespace none does. */
const rounds = 5;
/** Each visit takes a thread that enters the namespace, and most namespaces have nothing to replace. */
const namespacesAtOnce = 16;

export class HostSwapper implements Swapper {
  readonly #proc: string;
  readonly #kubeletDir: string;
  readonly #threads: InsideThreads;
  readonly #podOf: (proc: string, pid: number) => string | undefined;
  readonly #lost: LostMounts;

  /** `proc`: mount point of the host's /proc. */
  constructor(proc: string, kubeletDir: string, threads = new InsideThreads(), podOf = podUidOf) {
    this.#proc = proc;
    this.#kubeletDir = kubeletDir;
    this.#threads = threads;
    this.#podOf = podOf;
    this.#lost = new LostMounts((pid) => startOf(proc, pid));
  }

  async swap(call: Call, deviceId: DeviceId, source: string, scope?: SwapScope): Promise<Swapped> {
    using served = openServed(source, deviceId);
    let replaced = 0;
    // All containers of a Pod, or none: a Pod with a container in which nothing may be replaced stays out from the beginning.
    const trial = scope && (await this.#everywhere(call, { deviceId, scope, served, isTrial: true }));
    const refused = trial?.failures ?? [];
    for (let round = 0; ; round += 1) {
      // Containers first: if this program ends in between, its own mount table still shows the dead mount to the next one.
      const able = without(scope, refused);
      const inside = await this.#everywhere(call, { deviceId, scope: able, served });
      const here = await this.#here(call, { deviceId, scope: without(able, inside.failures), served });
      replaced += inside.replaced + here.replaced;
      const failures = [...refused, ...inside.failures, ...here.failures];
      if (inside.replaced + here.replaced > 0 && round < rounds) continue;
      if (scope !== undefined) this.#lost.forget(deviceId);
      return { replaced, failures };
    }
  }

  async holdDead(call: Call, deviceId: DeviceId): Promise<Holding> {
    return await holdDead(call, { proc: this.#proc, podOf: this.#podOf }, deviceId);
  }

  async #everywhere(call: Call, work: Work): Promise<Swapped> {
    const own = ownMountNamespace();
    const results: Swapped[] = [];
    const allowances = new Map<PodUid, PodAllowance>();
    const namespaces = await mountNamespaces(call, this.#proc);
    this.#lost.keepOnly(namespaces);
    const others = namespaces.filter(({ id }) => id !== own);
    for (let at = 0; at < others.length; at += namespacesAtOnce) {
      const visits = others.slice(at, at + namespacesAtOnce).map(async (namespace) => {
        const owner = this.#podOf(this.#proc, namespace.pids[0]) as PodUid | undefined;
        if (!isInScope(work, owner)) return { replaced: 0, failures: [] };
        const allowance = (owner && allowances.get(owner)) ?? new PodAllowance();
        if (owner !== undefined) allowances.set(owner, allowance);
        return await this.#inside(call, work, { namespace, owner, allowance });
      });
      // All visits end before the first failure is thrown, because they use descriptors that the caller closes.
      await Promise.allSettled(visits);
      results.push(...(await Promise.all(visits)));
      // A Pod controls the number of its namespaces, and namespaces that are not entered never wait: yield to other work.
      await nextTurn();
    }
    return sum(results);
  }

  async #inside(call: Call, work: Work, { namespace, owner, allowance }: Container): Promise<Swapped> {
    if (!allowance.enter()) {
      const isAffected = await mayHold(call, { proc: this.#proc, deviceId: work.deviceId }, namespace, allowance);
      return refuse(call, { namespace, owner }, isAffected ? allowance.tooMany() : undefined);
    }
    using opened = new DisposableStack();
    const opening = openTable(this.#proc, namespace).catch((error: unknown) => describeError(error));
    const inside = await openUnlessAborted(call, opening);
    if (inside === undefined) return { replaced: 0, failures: [] };
    if (typeof inside === "string") {
      return refuse(call, { namespace, owner }, `the mount namespace cannot be entered: ${inside}`);
    }
    opened.use(inside);
    const first = await planInside(call, inside, work);
    const obstacle = first === undefined ? tableTooLarge : this.#obstacle(first, namespace, allowance);
    if (first === undefined || obstacle !== undefined) return refuse(call, { namespace, owner }, obstacle);
    if (work.isTrial === true) return await carryOut({ ...first, swaps: [] }, { ...idle, ownerOf: () => owner });
    const lostBefore = this.#lost.in(namespace, work.deviceId);
    const { replaced, failures } = await carryOut(first, {
      ownerOf: () => owner,
      onLost: ({ mountPoint }, error) => {
        this.#lost.add(namespace, {
          deviceId: work.deviceId,
          mountPoint,
          because: describeError(error),
          isUnsafe: false,
          isLost: true,
        });
      },
      isStillPlanned: async (swap) => {
        const now = await planInside(call, inside, work);
        return now === undefined || isPlanned(now, swap);
      },
      replace: async (swap) => {
        // Each replacement opens the namespace anew, because a hung thread keeps its descriptors.
        const own = await openUnlessAborted(call, openInside(this.#proc, namespace));
        if (own === undefined) throw new Error("its process has ended");
        const isExpected = async (id: number) => {
          const now = id === swap.id ? await planInside(call, own, work) : undefined;
          return now !== undefined && isPlanned(now, swap);
        };
        const { id: mountId, mountPoint: path } = swap;
        const copy = (held: HeldMount) => copyFor(call, work, swap, held);
        await this.#threads.replace(call, { namespaceId: namespace.id, mountId, path, isExpected, inside: own, copy });
      },
    });
    const lost = lostBefore.map(({ deviceId: _device, ...mount }) => Object.assign(mount, { workload: owner }));
    return { replaced, failures: [...lost, ...failures] };
  }

  /** The reason why no mount of a namespace can be replaced; undefined if there is none. */
  #obstacle(plan: Swaps, { pids }: MountNamespace, allowance: PodAllowance): string | undefined {
    if (countMounts(plan) === 0) return undefined;
    const sandbox = sandboxOf(this.#proc, pids);
    return sandbox === undefined ? allowance.replace(countMounts(plan)) : keepsOpen(sandbox);
  }

  /** Mounts in the node plugin's own namespace propagate to the host and to every slave of its mounts. */
  async #here(call: Call, work: Work): Promise<Swapped> {
    const plan = () => {
      const { swaps, refusals } = swapsHere(readMounts(), work.deviceId, this.#kubeletDir);
      const inScope = (mount: Pick<Swap, "mountPoint">) => isInScope(work, workloadAt(this.#kubeletDir, mount));
      return { swaps: swaps.filter(inScope), refusals: refusals.filter(inScope) };
    };
    return await carryOut(plan(), {
      ownerOf: (mount) => workloadAt(this.#kubeletDir, mount),
      isStillPlanned: async (swap) => {
        call.signal.throwIfAborted();
        return isPlanned(plan(), swap);
      },
      replace: async (swap) => {
        using root = openPath("/");
        using held = await openUnlessAborted(call, holdMount(root, swap.mountPoint));
        using tree = await copyFor(call, work, swap, held);
        // The volume may have been unpublished meanwhile: then nothing must be mounted.
        if (held.id !== swap.id || !isPlanned(plan(), swap)) throw wrongMount();
        replaceHere(tree, held);
      },
    });
  }
}

const idle = { isStillPlanned: async () => false, replace: async () => undefined };

interface Container {
  readonly namespace: MountNamespace;
  /** undefined: the namespace belongs to the host. */
  readonly owner: PodUid | undefined;
  readonly allowance: PodAllowance;
}

function isInScope({ scope }: Work, workload: PodUid | undefined): boolean {
  return scope === undefined || (workload !== undefined && scope.workloads.has(workload));
}

function without(scope: SwapScope | undefined, failures: readonly SwapFailure[]): SwapScope | undefined {
  // Where nothing is mounted any more nothing is kept either: a new container of the Pod gets the new mount.
  const failed = new Set(failures.filter(({ isLost }) => isLost !== true).map(({ workload }) => workload));
  return scope && { workloads: new Set([...scope.workloads].filter((workload) => !failed.has(workload))) };
}

/** undefined: the mount table exceeds the limits. */
async function planInside(
  call: Call,
  { table }: Pick<Inside, "table">,
  { deviceId }: Work,
): Promise<Swaps | undefined> {
  const text = await readTable(call, table, tableLimits);
  return text === undefined ? undefined : swapsInside(parseMountsOfDevice(text, deviceId), deviceId);
}

function keepsOpen(sandbox: string): string {
  return `containers in ${sandbox} keep the dead file system open: delete the Pod, a new one gets the volume`;
}

/** The result for a namespace that is not healed. A namespace of the host has no workload and only copies of kubelet's directory. */
function refuse(
  call: Call,
  { namespace, owner }: Pick<Container, "namespace" | "owner">,
  because: string | undefined,
): Swapped {
  if (because === undefined) return { replaced: 0, failures: [] };
  call.log.info("not healed in a mount namespace", { namespace: namespace.id, pid: namespace.pids[0], owner, because });
  if (owner === undefined) return { replaced: 0, failures: [] };
  return { replaced: 0, failures: [{ workload: owner, mountPoint: "/", because, isUnsafe: false }] };
}

/** Compares mount ids: the path of a mount changes when a directory on it is renamed. */
function isPlanned({ swaps }: Swaps, { id }: Swap): boolean {
  return swaps.some((one) => one.id === id);
}

/** Opens the root of the living mount. All copies are made from this descriptor, so no other file system gets into a container. */
function openServed(source: string, dead: DeviceId): Descriptor {
  using undo = new DisposableStack();
  const served = undo.use(openPath(source));
  // The mount of the descriptor, not the mount at that path: another mount may cover the source or its parents by now.
  const id = mountIdOf(served);
  const mount = readMounts().find((one) => one.id === id);
  if (mount?.mountPoint !== source || !isOurs(mount) || mount.deviceId === dead) {
    throw new DriverError("notReady", `the mount at ${source} vanished while others were to be healed with it`);
  }
  undo.move();
  return served;
}

async function copyFor(call: Call, { served }: Work, swap: Swap, held: HeldMount): Promise<Descriptor> {
  call.signal.throwIfAborted();
  using undo = new DisposableStack();
  const wanted = { root: swap.root, wasDirectory: isDirectory(held.root) };
  using part = swap.root === "/" ? undefined : await openSubPath(call, served, wanted);
  const tree = undo.use(cloneTree(part ?? served));
  copyAttributes(tree, swap);
  undo.move();
  return tree;
}

function sum(results: readonly Swapped[]): Swapped {
  return {
    replaced: results.reduce((total, { replaced }) => total + replaced, 0),
    failures: results.flatMap(({ failures }) => failures),
  };
}
