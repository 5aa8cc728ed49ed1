import type { SourceCondition } from "../core/attachment-status.ts";
import type { PodName } from "../core/names.ts";

export interface SourceState {
  readonly health: SourceCondition;
  readonly lastDeath: Date | undefined;
  /** How often it served again after a death. */
  readonly heals: number;
  /** Dead, and not yet serving again. */
  readonly isHurt: boolean;
  /** Whether workloads have bind mounts of it; undefined while nobody wants it unmounted. */
  readonly inUse?: boolean;
}

const unknown: SourceState = { health: "absent", lastDeath: undefined, heals: 0, isHurt: false };

/** What the sources of this node were like when somebody looked last. Whoever heals or reports is told of changes. */
export class SourceHealth {
  readonly #states = new Map<PodName, SourceState>();
  readonly #listeners = new Set<(name: PodName) => void>();
  readonly #firstLook = Promise.withResolvers<void>();

  /** Before, "absent" means nothing. */
  readonly looked = this.#firstLook.promise;

  get(name: PodName): SourceState {
    return this.#states.get(name) ?? unknown;
  }

  /** From now on, whenever the state of a source is another one. */
  subscribe(listener: (name: PodName) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  saw(name: PodName, health: SourceCondition, now: Date): void {
    const before = this.#states.get(name);
    // Whoever looks at the mount sees it dead; that it is stuck is known of its Pod.
    if (before?.health === health || (before?.health === "stuck" && health === "dead")) return;
    this.#states.set(name, next(before ?? unknown, health, now));
    for (const listener of this.#listeners) listener(name);
  }

  /** Of one that is to be unmounted. */
  sawUse(name: PodName, inUse: boolean): void {
    const before = this.get(name);
    if (before.inUse === inUse) return;
    this.#states.set(name, { ...before, inUse });
    for (const listener of this.#listeners) listener(name);
  }

  /** What a predecessor wrote down: a restart of the node plugin is no reason to forget a death. */
  remember(name: PodName, { lastDeath, heals }: Pick<SourceState, "lastDeath" | "heals">): void {
    const state = this.get(name);
    const knows = state.lastDeath !== undefined || state.heals > 0;
    if (!knows && (lastDeath !== undefined || heals > 0)) this.#states.set(name, { ...state, lastDeath, heals });
  }

  /** These are all; nothing is kept of Mountpoint Pods that are gone. */
  lookedAt(names: ReadonlySet<PodName>): void {
    this.#firstLook.resolve();
    for (const name of this.#states.keys()) if (!names.has(name)) this.#states.delete(name);
  }
}

function next(state: SourceState, health: SourceCondition, now: Date): SourceState {
  switch (health) {
    case "dead":
      return { ...state, health, lastDeath: now, isHurt: true };
    case "serving":
      return { ...state, health, heals: state.heals + (state.isHurt ? 1 : 0), isHurt: false };
    case "absent":
    case "starting":
    case "hung":
    case "stuck":
      return { ...state, health };
    default:
      return health satisfies never;
  }
}
