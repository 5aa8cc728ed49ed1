/** Replaces mounts in other namespaces without waiting for ever: a path may lead through another mount, and that may hang. */
import { DriverError } from "../../core/errors.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { holdMount, type Inside, replaceInside } from "../../linux/mount-tree.ts";
import { type Call, deadline } from "../../runtime/call.ts";

/** It takes less than a millisecond. */
const usualLimitMs = 5000;

export interface Replacement {
  /** The namespace, as the kernel names it. */
  readonly id: string;
  readonly path: string;
  /** Whether a mount is the one to be replaced, by its id in the namespace's mount table. */
  readonly isMeant: (mountId: number) => boolean;
  readonly inside: Inside & Disposable;
  readonly tree: Descriptor;
}

type Replace = (replacement: Replacement) => Promise<void>;

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
    const { id, path, inside, tree } = replacement;
    using owned = new DisposableStack();
    for (const one of [inside, tree]) owned.use(one);
    const key = `${id} ${path}`;
    // A second one would wait beside the first, and so on with every attempt.
    if (this.#running.has(key)) throw hangs();
    using limited = deadline(call, this.#limitMs, "a mount to be replaced");
    limited.signal.throwIfAborted();
    const kept = owned.move();
    this.#running.add(key);
    const done = this.#replace(replacement).finally(() => {
      this.#running.delete(key);
      kept[Symbol.dispose]();
    });
    await orAborted(limited, done).catch((error: unknown) => {
      throw limited.signal.aborted && !call.signal.aborted ? hangs() : error;
    });
  }
}

/**
 * The container may exchange directories on the path at any time. The path is looked up once, what it led to is compared
 * with the mount table, and everything after that acts on descriptors.
 */
export async function replaceMeant(
  { path, isMeant, inside, tree }: Replacement,
  canGoBeneath?: boolean,
): Promise<void> {
  using held = await holdMount(inside.root, path);
  if (!isMeant(held.id)) throw strayed();
  await replaceInside(inside, tree, held, canGoBeneath);
}

/** Of a path that leads to something else than the mount that is to be replaced. */
function strayed(): DriverError {
  return new DriverError("denied", "the path leads to another mount: directories on it were exchanged");
}

function hangs(): DriverError {
  return new DriverError("notReady", "timed out resolving the path in the container: another mount on it may hang");
}
