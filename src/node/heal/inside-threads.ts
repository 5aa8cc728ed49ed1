/** Replaces mounts in other namespaces without waiting for ever: a path may lead through another mount, and that may hang. */
import { DriverError } from "../../core/errors.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { type Inside, replaceInside } from "../../linux/mount-tree.ts";
import { type Call, deadline } from "../../runtime/call.ts";

/** It takes less than a millisecond. */
const usualLimitMs = 5000;

export interface Replacement {
  /** The namespace, as the kernel names it. */
  readonly id: string;
  readonly path: string;
  readonly inside: Inside & Disposable;
  readonly tree: Descriptor;
}

export class InsideThreads {
  readonly #replace: typeof replaceInside;
  readonly #limitMs: number;
  readonly #running = new Set<string>();

  constructor(replace: typeof replaceInside = replaceInside, limitMs = usualLimitMs) {
    this.#replace = replace;
    this.#limitMs = limitMs;
  }

  /** Takes over the descriptors: a thread that hangs may still use them, so they are closed when it ends. */
  async replace(call: Call, { id, path, inside, tree }: Replacement): Promise<void> {
    using owned = new DisposableStack();
    for (const one of [inside, tree]) owned.use(one);
    const key = `${id} ${path}`;
    // A second one would wait beside the first, and so on with every attempt.
    if (this.#running.has(key)) throw hangs();
    using limited = deadline(call, this.#limitMs, "a mount to be replaced");
    limited.signal.throwIfAborted();
    const kept = owned.move();
    this.#running.add(key);
    const done = this.#replace(inside, tree, path).finally(() => {
      this.#running.delete(key);
      kept[Symbol.dispose]();
    });
    await orAborted(limited, done).catch((error: unknown) => {
      throw limited.signal.aborted && !call.signal.aborted ? hangs() : error;
    });
  }
}

function hangs(): DriverError {
  return new DriverError("notReady", "the way there does not end, perhaps because another mount on it hangs");
}
