/** Replaces mounts in other mount namespaces with a time limit: the path may lead through another, hung mount. */
import { DriverError } from "../../core/errors.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { type HeldMount, holdMount, type Inside, replaceInside } from "../../linux/mounts/mount-tree.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

/** A replacement takes less than a millisecond. */
const usualLimitMs = 5000;

export interface Replacement {
  /** The mount namespace (`mnt:[…]`) and the mount id of the mount to replace. */
  readonly namespaceId: string;
  readonly mountId: number;
  readonly path: string;
  /** Whether the mount with this id is still planned for replacement, by the namespace's current mount table. */
  readonly isExpected: (mountId: number) => Promise<boolean>;
  readonly inside: Inside & Disposable;
  /** Makes the detached mount that replaces the held one. Sends requests to mount-s3, so it may take long. */
  readonly copy: (held: HeldMount) => Promise<Descriptor>;
}

/** Runs work that may hang in a container; after the limit the whole replacement is abandoned. */
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

  /** Takes ownership of the descriptors. They are closed when the thread ends, because a hung thread still uses them. */
  async replace(call: Call, replacement: Replacement): Promise<void> {
    const { namespaceId, mountId, inside } = replacement;
    using owned = new DisposableStack();
    owned.use(inside);
    // Not by path, which a container can change at any time.
    const key = `${namespaceId} ${mountId}`;
    // Each attempt would otherwise add another hung thread.
    if (this.#running.has(key)) throw new PathHangs();
    call.signal.throwIfAborted();
    const hangs = new AbortController();
    const unhung = { log: call.log, signal: AbortSignal.any([call.signal, hangs.signal]) };
    const limited: Limited = async (work) => {
      const timer = setTimeout(() => hangs.abort(new PathHangs()), this.#limitMs);
      // After the end of the call the timer would keep the program alive.
      const stop = () => clearTimeout(timer);
      unhung.signal.addEventListener("abort", stop, { once: true });
      return await work().finally(stop);
    };
    const kept = owned.move();
    this.#running.add(key);
    const done = this.#replace(unhung, replacement, limited).finally(() => {
      this.#running.delete(key);
      kept[Symbol.dispose]();
    });
    await orAborted(unhung, done);
  }
}

/**
 * The container may exchange directories on the path at any time. The path is resolved once, the mount id of the result is
 * compared with the mount table, and everything after that acts on descriptors.
 */
export async function replaceMount(
  call: Call,
  { path, mountId, isExpected, inside, copy }: Replacement,
  limited: Limited,
  canMountBeneath?: boolean,
): Promise<void> {
  using held = await limited(() => holdMount(inside.root, path));
  if (held.id !== mountId) throw wrongMount();
  // The look-up may have hung for minutes: the new mount may be dead by now, or a later attempt has replaced the old one.
  call.signal.throwIfAborted();
  using tree = await copy(held);
  if (!(await isExpected(held.id))) throw wrongMount();
  call.signal.throwIfAborted();
  // Before Linux 6.5 the last component of the path is resolved once more.
  await limited(() => replaceInside(inside, tree, held, canMountBeneath));
}

/** For a path that does not lead to the planned mount. */
export function wrongMount(): DriverError {
  return new DriverError("denied", "the path leads to another mount: directories on it were exchanged");
}

/** For a path in a container that leads through a mount whose server does not answer. */
export class PathHangs extends DriverError {
  constructor() {
    super("notReady", "timed out resolving the path in the container: another mount on it may hang");
  }
}
