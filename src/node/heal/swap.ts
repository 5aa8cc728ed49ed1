/** Puts a living mount in the place of a dead one: in every container that holds it, and for those that come. */
import { DriverError } from "../../core/errors.ts";
import type { PodUid } from "../../core/names.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { type Descriptor, openPlace } from "../../linux/descriptor.ts";
import {
  type MountNamespace,
  mountNamespaces,
  mountsIn,
  openInside,
  ownMountNamespace,
} from "../../linux/mount-namespaces.ts";
import { cloneTree, holdMount, makeAlike, replaceHere } from "../../linux/mount-tree.ts";
import { mountAt, readMounts } from "../../linux/mountinfo.ts";
import { podUidOf } from "../../linux/processes.ts";
import type { Call } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { describeError } from "../../runtime/log.ts";
import { isOurs, workloadAt } from "../mount-table.ts";
import { InsideThreads, strayed } from "./inside-threads.ts";
import { type Refusal, type Swap, type Swaps, swapsHere, swapsInside } from "./plan-swaps.ts";
import { partOf } from "./sub-path.ts";

export interface Swapped {
  /** How many mounts were replaced. */
  readonly places: number;
  readonly failures: readonly SwapFailure[];
}

/** Where it did not work. */
export interface SwapFailure {
  /** Whose container or volume it is; undefined: it cannot be told. */
  readonly workload: PodUid | undefined;
  readonly mountPoint: string;
  readonly because: string;
  /** The path led elsewhere, so nothing was touched. */
  readonly isUnsafe: boolean;
}

export interface Swapper {
  /** Replaces every mount of a dead device by what is mounted at `source`. */
  swap(call: Call, minor: number, source: string): Promise<Swapped>;
}

interface Work {
  readonly minor: number;
  /** The root of the living mount. */
  readonly served: Descriptor;
}

/** A container that starts meanwhile may still get the dead mount; after our own namespace none does. */
const rounds = 5;

export class HostSwapper implements Swapper {
  readonly #proc: string;
  readonly #kubeletDir: string;
  readonly #threads: InsideThreads;

  /** `proc`: where the host's /proc is mounted. */
  constructor(proc: string, kubeletDir: string, threads = new InsideThreads()) {
    this.#proc = proc;
    this.#kubeletDir = kubeletDir;
    this.#threads = threads;
  }

  async swap(call: Call, minor: number, source: string): Promise<Swapped> {
    using served = openServed(source, minor);
    let places = 0;
    for (let round = 0; ; round += 1) {
      // Containers first: what we see ourselves still tells of the dead mount if we end in between.
      const inside = await this.#everywhere(call, { minor, served });
      const here = await this.#here(call, { minor, served });
      places += inside.places + here.places;
      const failures = [...inside.failures, ...here.failures];
      if (inside.places + here.places === 0 || round === rounds) return { places, failures };
    }
  }

  async #everywhere(call: Call, work: Work): Promise<Swapped> {
    const own = ownMountNamespace();
    const results: Swapped[] = [];
    for (const namespace of mountNamespaces(this.#proc)) {
      if (namespace.id !== own) results.push(await this.#inside(call, work, namespace));
    }
    return total(results);
  }

  async #inside(call: Call, work: Work, namespace: MountNamespace): Promise<Swapped> {
    const plan = () => swapsInside(mountsIn(this.#proc, namespace, work.minor), work.minor);
    const owner = () => podUidOf(this.#proc, namespace.pid) as PodUid | undefined;
    return await carryOut(plan, owner, async (swap) => {
      using undo = new DisposableStack();
      const tree = undo.use(await copyFor(call, work, swap));
      const inside = openInside(this.#proc, namespace);
      if (inside === undefined) throw new Error("its process has ended");
      undo.move();
      const isMeant = (id: number) => id === swap.id && isPlanned(plan(), swap);
      const { id: mountId, mountPoint: path } = swap;
      await this.#threads.replace(call, { namespaceId: namespace.id, mountId, path, isMeant, inside, tree });
    });
  }

  /** What we do here reaches the host and all who follow it. */
  async #here(call: Call, work: Work): Promise<Swapped> {
    const plan = () => swapsHere(readMounts(), work.minor, this.#kubeletDir);
    const owner = (place: Pick<Swap, "mountPoint">) => workloadAt(this.#kubeletDir, place);
    return await carryOut(plan, owner, async (swap) => {
      using tree = await copyFor(call, work, swap);
      using root = openPlace("/");
      using held = await holdMount(root, swap.mountPoint);
      // Unpublished while we waited: then there is nothing to heal, and nothing may appear.
      if (held.id !== swap.id || !isPlanned(plan(), swap)) throw strayed();
      replaceHere(tree, held);
    });
  }
}

async function carryOut(
  plan: () => Swaps,
  ownerOf: (place: Pick<Swap, "mountPoint">) => PodUid | undefined,
  replace: (swap: Swap) => Promise<void>,
): Promise<Swapped> {
  const { swaps, refusals } = plan();
  const failed: Omit<SwapFailure, "workload">[] = refusals.map(certain);
  let places = 0;
  for (const swap of swaps) {
    try {
      await replace(swap);
      places += 1;
    } catch (error) {
      // What fails at a place that is gone by now, with its container or its volume, is no failure.
      const { mountPoint } = swap;
      const because = describeError(error);
      if (isPlanned(plan(), swap)) failed.push({ mountPoint, because, isUnsafe: leadsElsewhere(error) });
    }
  }
  const failures = failed.map(({ mountPoint, because, isUnsafe }) => ({
    mountPoint,
    because,
    isUnsafe,
    workload: ownerOf({ mountPoint }),
  }));
  return { places, failures };
}

function certain({ mountPoint, because }: Refusal) {
  return { mountPoint, because, isUnsafe: false };
}

/** ELOOP: a symbolic link on the path; EXDEV: a directory was moved out of the root while it was looked up. */
function leadsElsewhere(error: unknown): boolean {
  return isErrno(error, "ELOOP", "EXDEV") || (error instanceof DriverError && error.kind === "denied");
}

/** By its id: the path changes with every directory on it that is renamed. */
function isPlanned({ swaps }: Swaps, { id }: Swap): boolean {
  return swaps.some((one) => one.id === id);
}

/** The one descriptor through which everything is copied: what is not this mount-s3 cannot get into a container. */
function openServed(source: string, deadMinor: number): Descriptor {
  const mount = mountAt(readMounts(), source);
  if (mount === undefined || !isOurs(mount) || mount.minor === deadMinor) {
    throw new DriverError("notReady", `the mount at ${source} vanished while others were to be healed with it`);
  }
  return openPlace(source);
}

async function copyFor(call: Call, { served }: Work, swap: Swap): Promise<Descriptor> {
  call.signal.throwIfAborted();
  using undo = new DisposableStack();
  using part = swap.root === "/" ? undefined : await orAborted(call, partOf(call, served, swap.root));
  const tree = undo.use(cloneTree(part ?? served));
  makeAlike(tree, swap);
  undo.move();
  return tree;
}

function total(results: readonly Swapped[]): Swapped {
  return {
    places: results.reduce((sum, { places }) => sum + places, 0),
    failures: results.flatMap(({ failures }) => failures),
  };
}
