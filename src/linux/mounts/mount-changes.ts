import { openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Descriptor } from "../descriptor.ts";
import { POLLPRI } from "../kernel-abi.ts";
import { waitUntilReady } from "../socket/poll.ts";

const retryMs = 1000;

/**
 * Notifies listeners of every mount and unmount in the own mount namespace, including those that propagate from the host. The
 * kernel reports a change of the mount table as POLLPRI on an open mountinfo, once per open file, also for changes between
 * two polls. One thread waits for all listeners, and only while there are any.
 */
export class MountChanges {
  readonly #listeners = new Set<() => void>();
  #following = false;

  subscribe(listener: () => void): Disposable {
    this.#listeners.add(listener);
    if (!this.#following) this.#follow().catch(() => (this.#following = false));
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  async #follow(): Promise<void> {
    this.#following = true;
    // Changes are missed while no descriptor or thread is available: listeners are notified once afterwards.
    for (let hasMissed = false; this.#listeners.size > 0; hasMissed = true) {
      await this.#followTable(hasMissed).catch(() => delay(retryMs, undefined, { ref: false }));
    }
    this.#following = false;
  }

  async #followTable(hasMissed: boolean): Promise<void> {
    using table = new Descriptor(openSync("/proc/self/mountinfo", "r"));
    if (hasMissed) this.#notify();
    while (this.#listeners.size > 0) {
      await waitUntilReady(table.fd, POLLPRI);
      this.#notify();
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
