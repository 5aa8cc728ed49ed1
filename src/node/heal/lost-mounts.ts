import type { MountNamespace } from "../../linux/mounts/mount-namespaces.ts";
import type { SwapFailure } from "./carry-out.ts";

export interface LostMount extends Omit<SwapFailure, "workload"> {
  /** Of the device that was mounted there. */
  readonly minor: number;
}

interface Entry {
  /** Processes in the namespace when it was seen last. */
  readonly processes: ReadonlySet<string>;
  readonly places: readonly LostMount[];
}

/** A container may have tens of thousands of processes; the first ones are its oldest. */
const witnesses = 64;

/**
 * Places in mount namespaces where the dead mount was taken off and nothing could be mounted: no mount table names them any
 * more, and only a new container gets the volume there.
 *
 * The kernel gives the number of a namespace that has ended to the next one. A namespace is taken for the one that was seen
 * before only if a process is in it that was in it then. Its descriptor is not held for that: it would keep every mount
 * of a container that has ended.
 */
export class LostMounts {
  readonly #entries = new Map<string, Entry>();
  readonly #startOf: (pid: number) => string | undefined;

  /** `startOf`: when a process began; undefined if it has ended. */
  constructor(startOf: (pid: number) => string | undefined) {
    this.#startOf = startOf;
  }

  /** Takes all namespaces that there are now, and forgets what is known of others. */
  keepOnly(namespaces: readonly MountNamespace[]): void {
    const now = new Map(namespaces.map((namespace) => [namespace.id, namespace]));
    for (const [id, { processes, places }] of this.#entries) {
      const namespace = now.get(id);
      const still = namespace === undefined ? new Set<string>() : this.#processesIn(namespace);
      const isSame = [...still].some((one) => processes.has(one));
      if (isSame) this.#entries.set(id, { processes: still, places });
      else this.#entries.delete(id);
    }
  }

  /** Assumes that nothing is known of an earlier namespace with the same number: see `keepOnly`. */
  add(namespace: MountNamespace, place: LostMount): void {
    const { id } = namespace;
    const { processes, places } = this.#entries.get(id) ?? { processes: this.#processesIn(namespace), places: [] };
    this.#entries.set(id, { processes, places: [...places, place] });
  }

  in({ id }: MountNamespace, minor: number): readonly LostMount[] {
    return (this.#entries.get(id)?.places ?? []).filter((place) => place.minor === minor);
  }

  #processesIn({ pids }: MountNamespace): ReadonlySet<string> {
    const started = pids.slice(0, witnesses).flatMap((pid) => {
      const start = this.#startOf(pid);
      return start === undefined ? [] : [`${pid} ${start}`];
    });
    return new Set(started);
  }
}
