/**
 * Heals that are not done yet. Kept like what mounts need: a container that could not be healed shows nowhere in our own
 * mount table once kubelet's mounts are whole, so a restarted node plugin would not look for it.
 */
import type { PodName } from "../../core/names.ts";
import type { Keeper } from "./mount-records.ts";

export interface OwedHeal {
  readonly minor: number;
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
  /** Of the workloads that wait for it. */
  readonly targets: readonly string[];
}

const prefix = "owed-";

export class OwedHeals {
  readonly #keeper: Keeper;
  readonly #texts = new Map<string, string>();

  constructor(keeper: Keeper) {
    this.#keeper = keeper;
    for (const [name, text] of keeper.all()) if (name.startsWith(prefix)) this.#texts.set(name, text);
  }

  owe({ minor, mountpointPod, since, targets }: OwedHeal): void {
    const text = JSON.stringify({ minor, mountpointPod, since, targets });
    const name = `${prefix}${minor}`;
    if (this.#texts.get(name) === text) return;
    this.#texts.set(name, text);
    this.#keeper.write(name, text);
  }

  /** Done, or nobody needs it any more. */
  settle(minor: number): void {
    const name = `${prefix}${minor}`;
    if (this.#texts.delete(name)) this.#keeper.remove(name);
  }

  get all(): readonly OwedHeal[] {
    return [...this.#texts.values()].flatMap((text) => owedIn(text) ?? []);
  }
}

/** undefined for what another version wrote differently. */
function owedIn(text: string): OwedHeal | undefined {
  try {
    const { since, ...rest } = JSON.parse(text) as Omit<OwedHeal, "since"> & { readonly since: string };
    return Array.isArray(rest.targets) ? { ...rest, since: new Date(since) } : undefined;
  } catch {
    return undefined;
  }
}
