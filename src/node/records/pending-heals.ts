/**
 * Heals that are not done yet. Kept like what mounts need: a container that could not be healed shows nowhere in our own
 * mount table once kubelet's mounts are whole, so a restarted node plugin would not look for it.
 */
import type { PodName } from "../../core/names.ts";
import type { RecordStorage } from "./mount-records.ts";

export interface PendingHeal {
  readonly minor: number;
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
  /** Of the workloads that wait for it. */
  readonly targets: readonly string[];
}

const prefix = "owed-";

export class PendingHeals {
  readonly #storage: RecordStorage;
  readonly #texts = new Map<string, string>();

  constructor(storage: RecordStorage) {
    this.#storage = storage;
    for (const [name, text] of storage.all()) if (name.startsWith(prefix)) this.#texts.set(name, text);
  }

  add({ minor, mountpointPod, since, targets }: PendingHeal): void {
    const text = JSON.stringify({ minor, mountpointPod, since, targets });
    const name = `${prefix}${minor}`;
    if (this.#texts.get(name) === text) return;
    this.#texts.set(name, text);
    this.#storage.write(name, text);
  }

  /** Done, or nobody needs it any more. */
  remove(minor: number): void {
    const name = `${prefix}${minor}`;
    if (this.#texts.delete(name)) this.#storage.remove(name);
  }

  get all(): readonly PendingHeal[] {
    return [...this.#texts.values()].flatMap((text) => parseHeal(text) ?? []);
  }
}

/** undefined for what another version wrote differently. */
function parseHeal(text: string): PendingHeal | undefined {
  try {
    const { since, ...rest } = JSON.parse(text) as Omit<PendingHeal, "since"> & { readonly since: string };
    return Array.isArray(rest.targets) ? { ...rest, since: new Date(since) } : undefined;
  } catch {
    return undefined;
  }
}
