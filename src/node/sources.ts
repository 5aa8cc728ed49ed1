import type { PodName } from "../core/names.ts";
import { orAborted } from "../kube/or-aborted.ts";
import type { Call } from "../runtime/call.ts";
import { inBackground } from "../runtime/in-background.ts";
import type { Logger } from "../runtime/log.ts";
import type { Connection } from "./comm-volume.ts";

interface Start {
  readonly call: Call;
  readonly done: Promise<void>;
}

/** Who does what with which source at this moment; the mounts themselves are in the kernel's table. */
export class Sources {
  readonly #starts = new Map<PodName, Start>();
  readonly #publishing = new Map<PodName, number>();
  readonly #connections = new Map<PodName, Connection>();
  readonly #mourners = new Set<(name: PodName) => void>();

  /**
   * Brings a source up once, however many workloads wait for it: all of them get the result of the first. Only if that
   * one was called off (its own kubelet call ended) does the next try itself.
   */
  async bringUp(call: Call, name: PodName, work: () => Promise<void>): Promise<void> {
    for (let start = this.#starts.get(name); start !== undefined; start = this.#starts.get(name)) {
      try {
        return await orAborted(call, start.done);
      } catch (error) {
        if (call.signal.aborted || !start.call.signal.aborted) throw error;
      }
    }
    const done = work().finally(() => this.#starts.delete(name));
    this.#starts.set(name, { call, done });
    await done;
  }

  /** Somebody waits for its answer: the first one, or that of a mount which served before. */
  isStarting(name: PodName): boolean {
    return this.#starts.has(name);
  }

  /** From now on, whenever the mount-s3 behind a source ends unasked. */
  onEnd(listener: (name: PodName) => void): Disposable {
    this.#mourners.add(listener);
    return { [Symbol.dispose]: () => this.#mourners.delete(listener) };
  }

  /** From here to the end of the scope nobody unmounts the source. */
  publishing(name: PodName): Disposable {
    this.#publishing.set(name, (this.#publishing.get(name) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#publishing.get(name) ?? 1) - 1;
        if (left === 0) this.#publishing.delete(name);
        else this.#publishing.set(name, left);
      },
    };
  }

  isPublishing(name: PodName): boolean {
    return this.#publishing.has(name);
  }

  /** Keeps the connection for as long as mount-s3 lives: its end is how we learn of a death. */
  connected(log: Logger, name: PodName, connection: Connection): void {
    this.disconnect(name);
    this.#connections.set(name, connection);
    inBackground(log, "waiting for the end of mount-s3", this.#tellOfDeath(log, name, connection));
  }

  /** Whether we would hear of its death. */
  isConnected(name: PodName): boolean {
    return this.#connections.has(name);
  }

  /** An end that comes now is expected. */
  disconnect(name: PodName): void {
    this.#connections.get(name)?.[Symbol.dispose]();
    this.#connections.delete(name);
  }

  async #tellOfDeath(log: Logger, name: PodName, connection: Connection): Promise<void> {
    if ((await connection.closed) === "byUs") return;
    log.info("mount-s3 has ended", { mountpointPod: name });
    this.disconnect(name);
    for (const listener of this.#mourners) listener(name);
  }
}
