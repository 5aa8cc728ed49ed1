/** Replaces mounts in other namespaces without waiting for ever: a path may lead through another mount, and that may hang. */
import { DriverError } from "../../core/errors.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { holdMount, type Inside, replaceInside } from "../../linux/mount-tree.ts";
import { type Call, deadline } from "../../runtime/call.ts";

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
  readonly tree: Descriptor;
}

type Replace = (call: Call, replacement: Replacement) => Promise<void>;

export class InsideThreads {
  readonly #replace: Replace;
  readonly #limitMs: number;
  readonly #running = new Set<string>();

  constructor(replace: Replace = replaceMeant, limitMs = usualLimitMs) {
    this.#replace = replace;
    this.#limitMs = limitMs;
  }

  /** Takes over the descriptors: a thread that hangs may still use them, so they are closed when it ends. */
  async replace(call: Call, replacement: Replacement): Promise<void> {
    const { namespaceId, mountId, inside, tree } = replacement;
    using owned = new DisposableStack();
    for (const one of [inside, tree]) owned.use(one);
    // Not by its path, which a container can change at any time.
    const key = `${namespaceId} ${mountId}`;
    // A second one would wait beside the first, and so on with every attempt.
    if (this.#running.has(key)) throw new PathHangs();
    using limited = deadline(call, this.#limitMs, "a mount to be replaced");
    limited.signal.throwIfAborted();
    const kept = owned.move();
    this.#running.add(key);
    const done = this.#replace(limited, replacement).finally(() => {
      this.#running.delete(key);
      kept[Symbol.dispose]();
    });
    await orAborted(limited, done).catch((error: unknown) => {
      throw limited.signal.aborted && !call.signal.aborted ? new PathHangs() : error;
    });
  }
}

/**
 * The container may exchange directories on the path at any time. The path is looked up once, what it led to is compared
 * with the mount table, and everything after that acts on descriptors.
 */
export async function replaceMeant(
  call: Call,
  { path, isMeant, inside, tree }: Replacement,
  canGoBeneath?: boolean,
): Promise<void> {
  using held = await holdMount(inside.root, path);
  // The look-up may have hung for minutes: what was to be put there may be dead by now, or somebody else has done it.
  call.signal.throwIfAborted();
  if (!(await isMeant(held.id))) throw strayed();
  await replaceInside(inside, tree, held, canGoBeneath);
}

/** Of a path that leads to something else than the mount that is to be replaced. */
export function strayed(): DriverError {
  return new DriverError("denied", "the path leads to another mount: directories on it were exchanged");
}

/** Of a path in a container that leads through a mount whose server does not answer. */
export class PathHangs extends DriverError {
  constructor() {
    super("notReady", "timed out resolving the path in the container: another mount on it may hang");
  }
}
