import { openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Descriptor } from "../descriptor.ts";
import { POLLPRI } from "../kernel-abi.ts";
import { waitUntilReady } from "../socket/poll.ts";

const retryMs = 1000;

/**
 * Tells when anything was mounted or unmounted in our namespace, what propagates from the host included. The kernel
 * signals an open mountinfo as urgent after every change, once per open file, and also if the change came between two
 * looks. One thread waits, however many listen, and only while somebody does.
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
    // Without a descriptor or a thread for the moment, changes are missed: whoever listens looks again afterwards.
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
