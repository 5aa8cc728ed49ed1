/**
 * Lets statuses wait while workloads wait for their attachments: a status costs the API server half of what a Mountpoint Pod and its
 * attachment do, and nothing depends on it.
 */
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";

/** Operators read statuses, so they are written also while the reconciler is behind for long. */
const longestMs = 5000;
const lookEveryMs = 500;

export class StatusPatience {
  readonly #isBehind: () => boolean;
  /** When a status was first held back. */
  readonly #since = new Map<VolumeOnNodeKey, number>();

  constructor(isBehind: () => boolean) {
    this.#isBehind = isBehind;
  }

  /** When to ask again; 0: the statuses of this volume on this node may be written now. */
  waitMs(key: VolumeOnNodeKey): number {
    const nowMs = performance.now();
    const sinceMs = this.#since.get(key) ?? nowMs;
    if (this.#isBehind() && nowMs - sinceMs < longestMs) {
      this.#since.set(key, sinceMs);
      return lookEveryMs;
    }
    this.#since.delete(key);
    return 0;
  }
}
