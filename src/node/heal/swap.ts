/** Puts a living mount in the place of a dead one: in every container that holds it, and for those that come. */
import { DriverError } from "../../core/errors.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { type Descriptor, openPlace } from "../../linux/descriptor.ts";
import {
  type MountNamespace,
  mountNamespaces,
  mountsOfMinorIn,
  openInside,
  ownMountNamespace,
} from "../../linux/mount-namespaces.ts";
import { cloneTree, makeAlike, replaceHere } from "../../linux/mount-tree.ts";
import { mountAt, readMounts } from "../../linux/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { isOurs } from "../mount-table.ts";
import { InsideThreads } from "./inside-threads.ts";
import { type Swap, type Swaps, swapsHere, swapsInside } from "./plan-swaps.ts";
import { partOf } from "./sub-path.ts";

export interface Swapped {
  /** How many mounts were replaced. */
  readonly places: number;
  /** Where it did not work, and why. */
  readonly failures: readonly string[];
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
    const plan = () => swapsInside(mountsOfMinorIn(this.#proc, namespace, work.minor), work.minor);
    return await carryOut(plan, async (swap) => {
      using undo = new DisposableStack();
      const tree = undo.use(await copyFor(call, work, swap));
      const inside = openInside(this.#proc, namespace);
      if (inside === undefined) throw new Error("its process has ended");
      undo.move();
      await this.#threads.replace(call, { id: namespace.id, path: swap.mountPoint, inside, tree });
    });
  }

  /** What we do here reaches the host and all who follow it. */
  async #here(call: Call, work: Work): Promise<Swapped> {
    const plan = () => swapsHere(readMounts(), work.minor, this.#kubeletDir);
    return await carryOut(plan, async (swap) => {
      using tree = await copyFor(call, work, swap);
      // Unpublished while we waited: then there is nothing to heal, and nothing may appear.
      if (isPlanned(plan(), swap)) replaceHere(tree, swap.mountPoint);
    });
  }
}

/** What fails at a place that is gone by then, with its container or its volume, is no failure. */
async function carryOut(plan: () => Swaps, replace: (swap: Swap) => Promise<void>): Promise<Swapped> {
  const { swaps, refusals } = plan();
  const results: Swapped[] = [];
  for (const swap of swaps) {
    const result = await attempt(swap, () => replace(swap));
    results.push(result.failures.length === 0 || isPlanned(plan(), swap) ? result : nothing);
  }
  return total([...results, { places: 0, failures: refusals }]);
}

function isPlanned({ swaps }: Swaps, { mountPoint }: Swap): boolean {
  return swaps.some((one) => one.mountPoint === mountPoint);
}

const nothing: Swapped = { places: 0, failures: [] };

/** The one descriptor through which everything is copied: what is not this mount-s3 cannot get into a container. */
function openServed(source: string, deadMinor: number): Descriptor {
  const mount = mountAt(readMounts(), source);
  if (mount === undefined || !isOurs(mount) || mount.minor === deadMinor) {
    throw new DriverError("notReady", `the mount at ${source} vanished while others were to be healed with it`);
  }
  return openPlace(source);
}

async function copyFor(call: Call, { served }: Work, swap: Swap): Promise<Descriptor> {
  using undo = new DisposableStack();
  using part = swap.root === "/" ? undefined : await orAborted(call, partOf(call, served, swap.root));
  const tree = undo.use(cloneTree(part ?? served));
  makeAlike(tree, swap);
  undo.move();
  return tree;
}

async function attempt({ mountPoint }: Swap, work: () => Promise<void>): Promise<Swapped> {
  try {
    await work();
    return { places: 1, failures: [] };
  } catch (error) {
    return { places: 0, failures: [`${mountPoint}: ${describeError(error)}`] };
  }
}

function total(results: readonly Swapped[]): Swapped {
  return {
    places: results.reduce((sum, { places }) => sum + places, 0),
    failures: results.flatMap(({ failures }) => failures),
  };
}
