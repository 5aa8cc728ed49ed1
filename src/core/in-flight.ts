import { DriverError } from "./errors.ts";

/** At most one operation per target: CSI asks for Aborted, and kubelet then repeats the call. */
export class InFlight {
  readonly #keys = new Set<string>();

  enter(key: string): Disposable {
    if (this.#keys.has(key)) throw new DriverError("busy", `an operation on ${key} is already running`);
    this.#keys.add(key);
    return { [Symbol.dispose]: () => this.#keys.delete(key) };
  }
}
