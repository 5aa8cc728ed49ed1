/** Puts a living mount in the place of a dead one: in every container that holds it, and for those that come. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { type Descriptor, openPath } from "../../linux/descriptor.ts";
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
import { parseMountsOfFuse, readMounts } from "../../linux/mounts/mountinfo.ts";
import { readTable } from "../../linux/mounts/read-table.ts";
import { podUidOf, startOf } from "../../linux/process/processes.ts";
import { sandboxOf } from "../../linux/process/sandbox.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { isOurs, workloadAt } from "../mounts/mount-table.ts";
import { carryOut, type Swapped } from "./carry-out.ts";
import { PodAllowance, tableLimits, tableTooLarge } from "./heal-limits.ts";
import { type Holding, holdDead } from "./hold-dead.ts";
import { InsideThreads, wrongMount } from "./inside-threads.ts";
import { LostMounts } from "./lost-mounts.ts";
import { mayHold } from "./may-hold.ts";
import { openUnlessAborted } from "./open-unless-aborted.ts";
import { countMounts, type Swap, type Swaps, swapsHere, swapsInside } from "./plan-swaps.ts";
import { partOf } from "./sub-path.ts";

export interface Swapper {
  /** Replaces every mount of a dead device by what is mounted at `source`. */
  swap(call: Call, minor: number, source: string): Promise<Swapped>;
  /** Keeps a dead device of ours from ending, through a container that still has it. */
  holdDead(call: Call, minor: number): Promise<Holding>;
}

interface Work {
  readonly minor: number;
  /** The root of the living mount. */
  readonly served: Descriptor;
}

/** A container that starts meanwhile may still get the dead mount; after our own namespace none does. */
const rounds = 5;
/** Each takes a thread that enters it, and most have nothing to be replaced. */
const namespacesAtOnce = 16;

export class HostSwapper implements Swapper {
  readonly #proc: string;
  readonly #kubeletDir: string;
  readonly #threads: InsideThreads;
  readonly #podOf: (proc: string, pid: number) => string | undefined;
  readonly #lost: LostMounts;

  /** `proc`: where the host's /proc is mounted. */
  constructor(proc: string, kubeletDir: string, threads = new InsideThreads(), podOf = podUidOf) {
    this.#proc = proc;
    this.#kubeletDir = kubeletDir;
    this.#threads = threads;
    this.#podOf = podOf;
    this.#lost = new LostMounts((pid) => startOf(proc, pid));
  }

  async swap(call: Call, minor: number, source: string): Promise<Swapped> {
    using served = openServed(source, minor);
    let replaced = 0;
    for (let round = 0; ; round += 1) {
      // Containers first: what we see ourselves still tells of the dead mount if we end in between.
      const inside = await this.#everywhere(call, { minor, served });
      const here = await this.#here(call, { minor, served });
      replaced += inside.replaced + here.replaced;
      const failures = [...inside.failures, ...here.failures];
      if (inside.replaced + here.replaced === 0 || round === rounds) return { replaced, failures };
    }
  }

  async holdDead(call: Call, minor: number): Promise<Holding> {
    return await holdDead(call, { proc: this.#proc, podOf: this.#podOf }, minor);
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
        const allowance = (owner && allowances.get(owner)) ?? new PodAllowance();
        if (owner !== undefined) allowances.set(owner, allowance);
        return await this.#inside(call, work, { namespace, owner, allowance });
      });
      // All of them end before the first failure counts: they use descriptors of ours.
      await Promise.allSettled(visits);
      results.push(...(await Promise.all(visits)));
      // A Pod chooses how many there are, and those that are not entered need no thread: other work gets its turn.
      await nextTurn();
    }
    return total(results);
  }

  async #inside(call: Call, work: Work, { namespace, owner, allowance }: Container): Promise<Swapped> {
    if (!allowance.enter()) {
      const isAffected = await mayHold(call, { proc: this.#proc, minor: work.minor }, namespace, allowance);
      return refused(call, { namespace, owner }, isAffected ? allowance.tooMany() : undefined);
    }
    using opened = new DisposableStack();
    const opening = openTable(this.#proc, namespace).catch((error: unknown) => describeError(error));
    const inside = await openUnlessAborted(call, opening);
    if (inside === undefined) return { replaced: 0, failures: [] };
    if (typeof inside === "string") {
      return refused(call, { namespace, owner }, `the mount namespace cannot be entered: ${inside}`);
    }
    opened.use(inside);
    const first = await planInside(call, inside, work);
    const obstacle = first === undefined ? tableTooLarge : this.#obstacle(first, namespace, allowance);
    if (first === undefined || obstacle !== undefined) return refused(call, { namespace, owner }, obstacle);
    const lostBefore = this.#lost.in(namespace, work.minor);
    const { replaced, failures } = await carryOut(first, {
      ownerOf: () => owner,
      onLost: ({ mountPoint }, error) => {
        this.#lost.add(namespace, { minor: work.minor, mountPoint, because: describeError(error), isUnsafe: false });
      },
      isStillPlanned: async (swap) => {
        const now = await planInside(call, inside, work);
        return now === undefined || isPlanned(now, swap);
      },
      replace: async (swap) => {
        // Another one for each: a thread that hangs keeps it.
        const own = await openUnlessAborted(call, openInside(this.#proc, namespace));
        if (own === undefined) throw new Error("its process has ended");
        const isMeant = async (id: number) => {
          const now = id === swap.id ? await planInside(call, own, work) : undefined;
          return now !== undefined && isPlanned(now, swap);
        };
        const { id: mountId, mountPoint: path } = swap;
        const copy = (held: HeldMount) => copyFor(call, work, swap, held);
        await this.#threads.replace(call, { namespaceId: namespace.id, mountId, path, isMeant, inside: own, copy });
      },
    });
    const lost = lostBefore.map(({ mountPoint, because, isUnsafe }) => ({
      workload: owner,
      mountPoint,
      because,
      isUnsafe,
    }));
    return { replaced, failures: [...lost, ...failures] };
  }

  /** Why nothing is to be replaced in a namespace; undefined: nothing stands against it. */
  #obstacle(plan: Swaps, { pids }: MountNamespace, allowance: PodAllowance): string | undefined {
    if (countMounts(plan) === 0) return undefined;
    const sandbox = sandboxOf(this.#proc, pids);
    return sandbox === undefined ? allowance.replace(countMounts(plan)) : keepsOpen(sandbox);
  }

  /** What we do here reaches the host and all who follow it. */
  async #here(call: Call, work: Work): Promise<Swapped> {
    const plan = () => swapsHere(readMounts(), work.minor, this.#kubeletDir);
    return await carryOut(plan(), {
      ownerOf: (place) => workloadAt(this.#kubeletDir, place),
      isStillPlanned: async (swap) => {
        call.signal.throwIfAborted();
        return isPlanned(plan(), swap);
      },
      replace: async (swap) => {
        using root = openPath("/");
        using held = await openUnlessAborted(call, holdMount(root, swap.mountPoint));
        using tree = await copyFor(call, work, swap, held);
        // Unpublished while we waited: then there is nothing to heal, and nothing may appear.
        if (held.id !== swap.id || !isPlanned(plan(), swap)) throw wrongMount();
        replaceHere(tree, held);
      },
    });
  }
}

interface Container {
  readonly namespace: MountNamespace;
  /** undefined: a process of the host. */
  readonly owner: PodUid | undefined;
  readonly allowance: PodAllowance;
}

/** undefined: the table is above the limits. */
async function planInside(call: Call, { table }: Pick<Inside, "table">, { minor }: Work): Promise<Swaps | undefined> {
  const text = await readTable(call, table, tableLimits);
  return text === undefined ? undefined : swapsInside(parseMountsOfFuse(text, minor), minor);
}

function keepsOpen(sandbox: string): string {
  return `containers in ${sandbox} keep the dead file system open: delete the Pod, a new one gets the volume`;
}

/** A namespace of the host has no users who could be told, and what it has of the volume are copies of kubelet's directory. */
function refused(
  call: Call,
  { namespace, owner }: Pick<Container, "namespace" | "owner">,
  because: string | undefined,
): Swapped {
  if (because === undefined) return { replaced: 0, failures: [] };
  call.log.info("not healed in a mount namespace", { namespace: namespace.id, pid: namespace.pids[0], owner, because });
  if (owner === undefined) return { replaced: 0, failures: [] };
  return { replaced: 0, failures: [{ workload: owner, mountPoint: "/", because, isUnsafe: false }] };
}

/** By its id: the path changes with every directory on it that is renamed. */
function isPlanned({ swaps }: Swaps, { id }: Swap): boolean {
  return swaps.some((one) => one.id === id);
}

/** The one descriptor through which everything is copied: what is not this mount-s3 cannot get into a container. */
function openServed(source: string, deadMinor: number): Descriptor {
  using undo = new DisposableStack();
  const served = undo.use(openPath(source));
  // What was opened, not what the table has at that path: another mount may have come in between, or lie on its parents.
  const id = mountIdOf(served);
  const mount = readMounts().find((one) => one.id === id);
  if (mount?.mountPoint !== source || !isOurs(mount) || mount.minor === deadMinor) {
    throw new DriverError("notReady", `the mount at ${source} vanished while others were to be healed with it`);
  }
  undo.move();
  return served;
}

async function copyFor(call: Call, { served }: Work, swap: Swap, held: HeldMount): Promise<Descriptor> {
  call.signal.throwIfAborted();
  using undo = new DisposableStack();
  const wanted = { root: swap.root, wasDirectory: isDirectory(held.root) };
  using part = swap.root === "/" ? undefined : await partOf(call, served, wanted);
  const tree = undo.use(cloneTree(part ?? served));
  copyAttributes(tree, swap);
  undo.move();
  return tree;
}

function total(results: readonly Swapped[]): Swapped {
  return {
    replaced: results.reduce((sum, { replaced }) => sum + replaced, 0),
    failures: results.flatMap(({ failures }) => failures),
  };
}
