import { openSync } from "node:fs";
import { Descriptor } from "./descriptor.ts";
import { POLLPRI, untilReady } from "./poll.ts";

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
    if (!this.#following) void this.#follow();
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  async #follow(): Promise<void> {
    this.#following = true;
    using table = new Descriptor(openSync("/proc/self/mountinfo", "r"));
    while (this.#listeners.size > 0) {
      await untilReady(table.fd, POLLPRI);
      for (const listener of this.#listeners) listener();
    }
    this.#following = false;
  }
}
