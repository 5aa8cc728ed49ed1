/**
 * Heals that are not complete. They are stored together with the mount records: once kubelet's mounts are healed, the node plugin's own
 * mount table no longer shows a container that still has the dead mount, so a restarted node plugin would not look for it.
 */
import type { PodName } from "../../core/names.ts";
import type { RecordStorage } from "./mount-records.ts";

export interface PendingHeal {
  readonly minor: number;
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
  /** Targets of the workloads that wait for the heal. */
  readonly targets: readonly string[];
}

/** File name prefix. Earlier versions wrote it, too, so it must not change. */
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

  /** The heal is complete, or no workload needs it any more. */
  remove(minor: number): void {
    const name = `${prefix}${minor}`;
    if (this.#texts.delete(name)) this.#storage.remove(name);
  }

  get all(): readonly PendingHeal[] {
    return [...this.#texts.values()].flatMap((text) => parseHeal(text) ?? []);
  }
}

/** undefined for a text that another version wrote in another format. */
function parseHeal(text: string): PendingHeal | undefined {
  try {
    const { since, ...rest } = JSON.parse(text) as Omit<PendingHeal, "since"> & { readonly since: string };
    return Array.isArray(rest.targets) ? { ...rest, since: new Date(since) } : undefined;
  } catch {
    return undefined;
  }
}
