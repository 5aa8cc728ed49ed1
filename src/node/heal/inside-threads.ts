/** Replaces mounts in other namespaces without waiting for ever: a path may lead through another mount, and that may hang. */
import { DriverError } from "../../core/errors.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { type HeldMount, holdMount, type Inside, replaceInside } from "../../linux/mounts/mount-tree.ts";
import type { Call } from "../../runtime/call.ts";

/** It takes less than a millisecond. */
const usualLimitMs = 5000;

export interface Replacement {
  /** The mount that is to be replaced, by the kernel's names of its namespace and of itself. */
  readonly namespaceId: string;
  readonly mountId: number;
  readonly path: string;
  /** Whether a mount is the one to be replaced, by its id in the namespace's mount table. */
  readonly isMeant: (mountId: number) => Promise<boolean>;
  readonly inside: Inside & Disposable;
  /** What is to be put in the place of the mount that was found. It asks the object store, and takes its time. */
  readonly copy: (held: HeldMount) => Promise<Descriptor>;
}

/** Work that may hang in a container: it ends, or the whole replacement is given up. */
export type Limited = <Answer>(work: () => Promise<Answer>) => Promise<Answer>;
type Replace = (call: Call, replacement: Replacement, limited: Limited) => Promise<void>;

export class InsideThreads {
  readonly #replace: Replace;
  readonly #limitMs: number;
  readonly #running = new Set<string>();

  constructor(replace: Replace = replaceMount, limitMs = usualLimitMs) {
    this.#replace = replace;
    this.#limitMs = limitMs;
  }

  /** Takes over the descriptors: a thread that hangs may still use them, so they are closed when it ends. */
  async replace(call: Call, replacement: Replacement): Promise<void> {
    const { namespaceId, mountId, inside } = replacement;
    using owned = new DisposableStack();
    owned.use(inside);
    // Not by its path, which a container can change at any time.
    const key = `${namespaceId} ${mountId}`;
    // A second one would wait beside the first, and so on with every attempt.
    if (this.#running.has(key)) throw new PathHangs();
    call.signal.throwIfAborted();
    const hangs = new AbortController();
    const until = { log: call.log, signal: AbortSignal.any([call.signal, hangs.signal]) };
    const limited: Limited = async (work) => {
      const timer = setTimeout(() => hangs.abort(new PathHangs()), this.#limitMs);
      // Nobody waits any more when the call has ended: the timer would keep the program alive.
      const stop = () => clearTimeout(timer);
      until.signal.addEventListener("abort", stop, { once: true });
      return await work().finally(stop);
    };
    const kept = owned.move();
    this.#running.add(key);
    const done = this.#replace(until, replacement, limited).finally(() => {
      this.#running.delete(key);
      kept[Symbol.dispose]();
    });
    await orAborted(until, done);
  }
}

/**
 * The container may exchange directories on the path at any time. The path is looked up once, what it led to is compared
 * with the mount table, and everything after that acts on descriptors.
 */
export async function replaceMount(
  call: Call,
  { path, mountId, isMeant, inside, copy }: Replacement,
  limited: Limited,
  canMountBeneath?: boolean,
): Promise<void> {
  using held = await limited(() => holdMount(inside.root, path));
  if (held.id !== mountId) throw wrongMount();
  // The look-up may have hung for minutes: what was to be put there may be dead by now, or somebody else has done it.
  call.signal.throwIfAborted();
  using tree = await copy(held);
  if (!(await isMeant(held.id))) throw wrongMount();
  call.signal.throwIfAborted();
  // Before Linux 6.5 the name of the mount point is looked up once more.
  await limited(() => replaceInside(inside, tree, held, canMountBeneath));
}

/** Of a path that leads to something else than the mount that is to be replaced. */
export function wrongMount(): DriverError {
  return new DriverError("denied", "the path leads to another mount: directories on it were exchanged");
}

/** Of a path in a container that leads through a mount whose server does not answer. */
export class PathHangs extends DriverError {
  constructor() {
    super("notReady", "timed out resolving the path in the container: another mount on it may hang");
  }
}
